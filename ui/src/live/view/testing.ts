/** From a feature that was watched to the command that tests it on the run's own weights. */

import type { TokenFeatures } from "../../api/analytics";
import { activationsOf } from "./inspect";

export interface Suspect {
  /** Where the run is. */
  readonly directory: string;
  readonly layer: number;
  readonly feature: number;
  /** Without one, the command takes a passed one with a high reward. */
  readonly generation?: string | undefined;
  /** A recorded token of it; without, the one where what follows is least decided. */
  readonly token?: number | undefined;
}

export function ablateCommand({ directory, layer, feature, generation, token }: Suspect): string {
  const words = ["sonde", "ablate", shellWord(directory)];
  if (generation !== undefined) words.push("--generation", shellWord(generation));
  if (generation !== undefined && token !== undefined) words.push("--token", String(token));
  return [...words, "--layer", String(layer), "--features", String(feature), "--save", "why.html"].join(" ");
}

export function changedCommand(directory: string): string {
  return `sonde runs changed ${shellWord(directory)}`;
}

/** The recorded token at which a feature is most active, if a token of the text was said after it. */
export function tokenToTest(
  tokens: readonly TokenFeatures[],
  layer: number,
  feature: number,
  said: number,
): number | undefined {
  const able = [...activationsOf(tokens, layer, feature)].filter(([at, value]) => value > 0 && at < said - 1);
  return able.sort(([, one], [, other]) => other - one)[0]?.[0];
}

/** Why features of a token cannot be tested; null where they can. The answer is the token said after it. */
export function whyNotTested(
  tokens: readonly TokenFeatures[],
  layer: number | null,
  at: number,
  said: number,
): string | null {
  const seen = tokens.find(({ position }) => position === at)?.layers.find((each) => each.layer === layer);
  if (layer === null || seen === undefined || seen.features.length === 0)
    return `No feature${layer === null ? "" : ` of layer ${layer}`} was recorded at this token.`;
  return at >= said - 1 ? "Nothing was said after this token." : null;
}

/** The checkpoint whose weights are nearest to those that said something at a step, as `sonde ablate` takes it. */
export function checkpointNear(steps: readonly number[], step: number): number | undefined {
  const far = (saved: number) => Math.abs(saved - (step - 1));
  return [...steps].sort((one, other) => far(one) - far(other) || one - other)[0];
}

/** A word that a shell takes as it is. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
