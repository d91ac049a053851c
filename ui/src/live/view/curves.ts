/** Numbers a step, from the server's curves and, after their end, from the stream's own lines. */

import type { Curves, Series } from "../../api/analytics";
import type { GRPOMetrics, SidecarHealth } from "../../api/types";
import type { LineSeries } from "../plot/timeOptions";

export interface CurveView {
  readonly x: readonly number[];
  readonly series: readonly LineSeries[];
}

export interface LiveLine {
  readonly step: number;
  readonly values: readonly (Point | null)[];
}

export interface Point {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** One line to draw: how it is called, and which series are its middle and its ends. */
export interface Wanted {
  readonly name: string;
  readonly mean: Series | undefined;
  readonly low?: Series | undefined;
  readonly high?: Series | undefined;
}

function curveView(curves: Curves | null, wanted: readonly Wanted[], lines: readonly LiveLine[]): CurveView {
  const columns = Array.from({ length: curves?.columns ?? 0 }, (_, column) => column).filter((column) =>
    wanted.some(({ mean }) => (mean?.count[column] ?? 0) > 0),
  );
  const told = curves?.last_step ?? Number.NEGATIVE_INFINITY;
  const after = lines.filter(({ step }) => step > told);
  return {
    x: [
      ...columns.map((column) => (curves?.start ?? 0) + column * (curves?.width ?? 1)),
      ...after.map(({ step }) => step),
    ],
    series: wanted.map(({ name, mean, low = mean, high = mean }, index) => ({
      name,
      mean: [
        ...columns.map((column) => mean?.mean[column] ?? null),
        ...after.map((line) => line.values[index]?.mean ?? null),
      ],
      low: [
        ...columns.map((column) => low?.low[column] ?? null),
        ...after.map((line) => line.values[index]?.low ?? null),
      ],
      high: [
        ...columns.map((column) => high?.high[column] ?? null),
        ...after.map((line) => line.values[index]?.high ?? null),
      ],
    })),
  };
}

function flat(value: number | null): Point | null {
  return value === null ? null : { mean: value, low: value, high: value };
}

/** The reward of each step with its least and greatest, and the share that passed the gate. */
export function rewardView(curves: Curves | null, lines: readonly GRPOMetrics[]): CurveView {
  const of = (name: string) => curves?.series.find((series) => series.name === name);
  return curveView(
    curves,
    [
      { name: "reward R", mean: of("rewards_mean"), low: of("rewards_min"), high: of("rewards_max") },
      { name: "passed the gate", mean: of("r_a_pass_rate") },
    ],
    lines.map((line) => ({
      step: line.iteration,
      values: [
        line.rewards_mean === null
          ? null
          : {
              mean: line.rewards_mean,
              low: line.rewards_min ?? line.rewards_mean,
              high: line.rewards_max ?? line.rewards_mean,
            },
        flat(line.r_a_pass_rate),
      ],
    })),
  );
}

export const FITS = ["fvu", "cosine", "l0", "dead_share", "input_norm"] as const;
export type Fit = (typeof FITS)[number];

export const FIT_TEXT: Record<Fit, string> = {
  fvu: "FVU: variance the dictionary leaves unexplained",
  cosine: "cosine between residual and reconstruction",
  l0: "L0: active features a token",
  dead_share: "share of features that never fired",
  input_norm: "norm of the residual",
};

/** One number of dictionary health, a line a layer. */
export function healthView(curves: Curves | null, lines: readonly SidecarHealth[], fit: Fit): CurveView {
  const series = curves?.series.filter((each) => each.name === fit && each.layer !== null) ?? [];
  const layers = new Set(series.map((each) => each.layer ?? 0));
  for (const line of lines.slice(-1)) for (const layer of line.layers) layers.add(layer.layer_index);
  const sorted = [...layers].sort((one, other) => one - other);
  return curveView(
    curves,
    sorted.map((layer) => ({ name: `layer ${layer}`, mean: series.find((each) => each.layer === layer) })),
    lines.map((line) => ({
      step: line.step,
      values: sorted.map((layer) => flat(line.layers.find((each) => each.layer_index === layer)?.[fit] ?? null)),
    })),
  );
}
