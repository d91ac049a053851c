/** From a sweep's values to what its heatmaps need: scale, marks and words. */

import type { Hook } from "../api/types";
import type { Place } from "../widgets/heatmap/cursor";
import type { Mark } from "../widgets/heatmap/paint";
import { MISSING_CELL, PENDING, RingGrid } from "../widgets/heatmap/ring";
import type { LegendKey } from "../widgets/Legend";
import { changeOf, isNoise, scaleOf, textOf, type Scale } from "../widgets/scale";
import { quoted } from "../widgets/tokens";
import type { Axes, SweepView } from "./sweepView";

export type Values = SweepView["values"];

export interface Site {
  readonly hook: Hook;
  readonly row: number;
  readonly column: number;
  readonly value: number;
}

export function sharedScale(values: Values, baseline: number | null, noise: number): Scale {
  return scaleOf(everyNumber(values), baseline, noise);
}

function* everyNumber(values: Values): Generator<number> {
  for (const grid of Object.values(values)) yield* grid;
}

/** The largest and the smallest value of all hooks; of equal ones the first. None when all are equal. */
export function extremes(axes: Axes, values: Values): { max: Site; min: Site } | null {
  let max: Site | null = null;
  let min: Site | null = null;
  for (const hook of axes.hooks) {
    for (const [index, value] of (values[hook] ?? []).entries()) {
      if (!Number.isFinite(value)) continue;
      const row = Math.floor(index / axes.positions.length);
      const column = index % axes.positions.length;
      if (max === null || value > max.value) max = { hook, row, column, value };
      if (min === null || value < min.value) min = { hook, row, column, value };
    }
  }
  return max === null || min === null || max.value === min.value ? null : { max, min };
}

/** The marks in one hook's picture, where row 0 is on top. */
export function marksOf(hook: Hook, axes: Axes, found: { max: Site; min: Site } | null): Mark[] {
  return (["max", "min"] as const).flatMap((kind) => {
    const site = found?.[kind];
    return site?.hook === hook ? [{ kind, row: axes.layers.length - 1 - site.row, column: site.column }] : [];
  });
}

export function gridOf(axes: Axes, values: Float32Array | undefined): RingGrid {
  const columns = axes.positions.length;
  return RingGrid.from(axes.layers.length, columns, (row, column) => values?.[row * columns + column] ?? PENDING);
}

/** The value at a place of the picture. */
export function valueAt(axes: Axes, values: Float32Array | undefined, place: Place): number {
  const row = axes.layers.length - 1 - place.row;
  return values?.[row * axes.positions.length + place.column] ?? PENDING;
}

/** The layer and the position at a place of the picture. */
export function siteAt(axes: Axes, place: Place): { layer: number; position: number } {
  const layer = axes.layers[axes.layers.length - 1 - place.row] ?? 0;
  return { layer, position: axes.positions[place.column] ?? 0 };
}

/** layer 12, position 4 “·Colosseum”. */
export function placeText(axes: Axes, place: Place): string {
  const { layer, position } = siteAt(axes, place);
  return `layer ${layer}, position ${position} ${quoted(axes.tokens[position] ?? "")}`;
}

/** −1.23, +4.50 from the baseline; or why there is no number. */
export function valueText(scale: Scale, value: number, reason = ""): string {
  if (Number.isNaN(value)) return "not yet";
  if (value === MISSING_CELL) return reason === "" ? "no number" : `no number: ${reason}`;
  const noise = isNoise(scale, value) ? ", within the noise floor" : "";
  const change = changeOf(scale, value);
  return `${textOf(scale, value)}${change === "" ? "" : `, ${change} from the baseline`}${noise}`;
}

/** Which signs the pictures have. */
export function legendKeys(scale: Scale, values: Values, found: unknown): LegendKey[] {
  const numbers = [...everyNumber(values)];
  const keys: LegendKey[] = found === null ? [] : ["max", "min"];
  if (numbers.some((value) => isNoise(scale, value))) keys.push("noise");
  if (numbers.includes(MISSING_CELL)) keys.push("none");
  return keys;
}
