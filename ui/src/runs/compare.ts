/** Several runs over one another: which number, and where each run has it. Pure. */

import type { Curves } from "../api/analytics";
import type { LineSeries } from "../live/plot/timeOptions";
import { TELEMETRY, TELEMETRY_TEXT } from "../live/view/curves";

export interface Measured {
  readonly name: string;
  readonly text: string;
  /** Which curves have it. */
  readonly from: "rewards" | "health" | "telemetry";
}

export const MEASURES: readonly Measured[] = [
  { name: "rewards_mean", text: "mean reward", from: "rewards" },
  { name: "r_a_pass_rate", text: "share that passed the gate", from: "rewards" },
  { name: "fvu", text: "reconstruction: FVU, mean over layers", from: "health" },
  ...TELEMETRY.map((name) => ({ name, text: TELEMETRY_TEXT[name].name, from: "telemetry" as const })),
];

/** Values by step; of a number that layers have, their mean. */
export function seriesOf(curves: Curves | null, name: string): Map<number, number> {
  const found = new Map<number, number>();
  const wanted = curves?.series.filter((each) => each.name === name) ?? [];
  for (let column = 0; column < (curves?.columns ?? 0); column++) {
    const values = wanted.flatMap(({ mean }) => mean[column] ?? []);
    const sum = values.reduce((so, each) => so + each, 0);
    if (curves && values.length > 0) found.set(curves.start + column * curves.width, sum / values.length);
  }
  return found;
}

export interface RunPoints {
  readonly run: string;
  readonly points: ReadonlyMap<number, number>;
}

export function overlaid(runs: readonly RunPoints[]): { x: number[]; series: LineSeries[] } {
  const x = [...new Set(runs.flatMap(({ points }) => [...points.keys()]))].sort((one, other) => one - other);
  return { x, series: runs.map(({ run, points }) => ({ name: run, mean: x.map((step) => points.get(step) ?? null) })) };
}
