/** How active one feature is in a text: a sweep that removes it, of which the activations are what is wanted. */

import { ApiError } from "./errors";
import { api, read } from "./client";
import { tokenize } from "./prompts";
import type { SweepTable } from "./types";

export interface Tried {
  readonly tokens: readonly string[];
  /** Null where it was not read. */
  readonly values: readonly (number | null)[];
  readonly silent: boolean;
}

export interface Asked {
  readonly text: string;
  readonly model: string;
  readonly dictionary: string;
  readonly layer: number;
  readonly feature: number;
}

const NOWHERE = /none is active in this prompt/;

export async function tryFeature({ text, model, dictionary, layer, feature }: Asked): Promise<Tried> {
  const features = { layer, dictionary, numbers: [feature], draws: 0, how: "remove" as const };
  const body = { model, corrupt: text, answer: " the", features };
  try {
    return triedOf((await read(api.POST("/v1/sweeps", { body }))) as SweepTable);
  } catch (error) {
    if (!(error instanceof ApiError) || !NOWHERE.test(error.message)) throw error;
    const tokens = (await tokenize(text, true, AbortSignal.timeout(10_000))).map((token) => token.text);
    return { tokens, values: tokens.map(() => 0), silent: true };
  }
}

export function triedOf(found: SweepTable): Tried {
  const [table] = found.tables;
  const places = table?.axes[1]?.values ?? [];
  const values: (number | null)[] = found.tokens.prompt.map((_, position) => (position === 0 ? null : 0));
  places.forEach((place, index) => {
    if (typeof place === "number") values[place] = table?.activations?.[index] ?? null;
  });
  return { tokens: found.tokens.prompt, values, silent: false };
}
