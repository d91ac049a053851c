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

/** The checkpoint whose weights are nearest to those that said something at a step, as `sonde ablate` takes it. */
export function checkpointNear(steps: readonly number[], step: number): number | undefined {
  const far = (saved: number) => Math.abs(saved - (step - 1));
  return [...steps].sort((one, other) => far(one) - far(other) || one - other)[0];
}

/** A word that a shell takes as it is. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
