/** One generation, token by token: which features it has, and how active one is on each token. */

import type { TokenFeatures } from "../../api/analytics";
import { causalAddress } from "../../causal/draft";

export interface Candidate {
  readonly feature: number;
  readonly high: number;
  /** On how many of the recorded tokens it is among the strongest. */
  readonly tokens: number;
}

/** The features of a generation in one layer, strongest first. */
export function candidates(tokens: readonly TokenFeatures[], layer: number): Candidate[] {
  const found = new Map<number, { high: number; tokens: number }>();
  for (const token of tokens) {
    const seen = token.layers.find((each) => each.layer === layer);
    seen?.features.forEach((feature, index) => {
      const before = found.get(feature) ?? { high: Number.NEGATIVE_INFINITY, tokens: 0 };
      const value = seen.activations[index] ?? before.high;
      found.set(feature, { high: Math.max(before.high, value), tokens: before.tokens + 1 });
    });
  }
  return [...found].map(([feature, each]) => ({ feature, ...each })).sort((one, other) => other.high - one.high);
}

/** Activations of one feature by position. A recorded token that lacks it has 0; others are absent. */
export function activationsOf(tokens: readonly TokenFeatures[], layer: number, feature: number): Map<number, number> {
  const found = new Map<number, number>();
  for (const token of tokens) {
    const seen = token.layers.find((each) => each.layer === layer);
    if (seen === undefined) continue;
    const at = seen.features.indexOf(feature);
    found.set(token.position, at < 0 ? 0 : (seen.activations[at] ?? 0));
  }
  return found;
}

/** The layers that tokens of a generation were recorded at. */
export function layersOf(tokens: readonly TokenFeatures[]): number[] {
  const layers = new Set(tokens.flatMap((token) => token.layers.map((each) => each.layer)));
  return [...layers].sort((one, other) => one - other);
}

/**
 * The texts of a completion's tokens, if they are those the trainer counted: the end-of-text token
 * has no text, so there may be one fewer.
 */
export function fitting(texts: readonly string[], completionTokens: number): readonly string[] | null {
  return texts.length === completionTokens || texts.length === completionTokens - 1 ? texts : null;
}

/** The position of the last token of the prompt, which decides the first one of the completion. */
export const PROMPT_END = -1;

/** Where Causal opens with this prompt; with a token, up to it, and with it as the answer. */
export function causalFor(prompt: string, completion: readonly string[] | null, token: number | null): string {
  if (completion === null || token === null || token === PROMPT_END) return causalAddress({ clean: prompt, corrupt: prompt });
  const clean = prompt + completion.slice(0, token).join("");
  return causalAddress({ clean, corrupt: clean, answer: completion[token] ?? "" });
}

/** Said where not every token is recorded: `1 token in 4 is recorded`; null where all are. */
export function recordedEvery(positions: readonly number[]): string | null {
  const said = positions.filter((at) => at >= 0).sort((one, other) => one - other);
  const steps = said.slice(1).map((at, index) => at - (said[index] ?? 0));
  const every = Math.min(...steps);
  return steps.length > 0 && every > 1 ? `1 token in ${every} is recorded` : null;
}
