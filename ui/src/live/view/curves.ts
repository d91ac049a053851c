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

/** The reward of each step as quantiles, where its completions are known, and the share that passed the gate. */
export function rewardView(curves: Curves | null, lines: readonly GRPOMetrics[]): CurveView {
  const of = (name: string) => curves?.series.find((series) => series.name === name);
  const edge = (name: string) => flatSeries(of(name));
  return curveView(
    curves,
    [
      { name: "mean R", mean: of("rewards_mean"), low: edge("reward_p25"), high: edge("reward_p75") },
      { name: "passed the gate", mean: of("r_a_pass_rate") },
      { name: "median R", mean: of("reward_p50"), low: edge("reward_p10"), high: edge("reward_p90") },
    ].slice(0, of("reward_p50") ? 3 : 2),
    lines.map((line) => ({ step: line.iteration, values: [flat(line.rewards_mean), flat(line.r_a_pass_rate), null] })),
  );
}

/** A quantile's own mean in each column: its extremes would fill the panel. */
function flatSeries(series: Series | undefined): Series | undefined {
  return series && { ...series, low: series.mean, high: series.mean };
}

export const TELEMETRY = [
  "kl",
  "policy_loss",
  "entropy",
  "grad_norm",
  "learning_rate",
  "completion_length",
  "truncated_share",
  "tokens_per_second",
] as const;
export type TelemetryName = (typeof TELEMETRY)[number];

export const TELEMETRY_TEXT: Record<TelemetryName, { readonly name: string; readonly none: string }> = {
  kl: { name: "KL from the reference", none: "none: the trainer keeps no reference policy (beta 0)" },
  policy_loss: { name: "policy loss", none: "the trainer logs none" },
  entropy: { name: "entropy", none: "the trainer logs none" },
  grad_norm: { name: "gradient norm", none: "the trainer logs none" },
  learning_rate: { name: "learning rate", none: "the trainer logs none" },
  completion_length: { name: "completion length", none: "not counted" },
  truncated_share: { name: "share truncated", none: "not counted" },
  tokens_per_second: { name: "tokens/s", none: "not counted" },
};

/** One number of telemetry, a line; empty where no step has it. */
export function telemetryView(curves: Curves | null, name: TelemetryName): CurveView {
  const mean = curves?.series.find((series) => series.name === name);
  return curveView(curves, [{ name: TELEMETRY_TEXT[name].name, mean }], []);
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
