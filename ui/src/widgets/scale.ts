/**
 * From values to places on one colour scale, shared by all panels side by side, as in
 * src/sonde/results/scale.py: symmetric about the baseline, or from least to greatest without one.
 */

import type { MapKind } from "./colors";
import { decimalsFor, fixed, signed } from "./numbers";

export interface Scale {
  readonly low: number;
  readonly high: number;
  readonly baseline: number | null;
  /** Half the width of the noise floor around the baseline; 0 when every difference is real. */
  readonly noise: number;
  /** How far from the baseline the colours reach at least; no farther than the values where it is not said. */
  readonly reach?: number;
}

/** The scale of everything that is to be compared by colour. Non-finite values do not count. */
export function scaleOf(values: Iterable<number>, baseline: number | null, noise = 0): Scale {
  let low = baseline ?? Number.POSITIVE_INFINITY;
  let high = baseline ?? Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low > high ? { low: 0, high: 0, baseline, noise } : { low, high, baseline, noise };
}

export function kindOf(scale: Scale): MapKind {
  return scale.baseline === null ? "sequential" : "diverging";
}

/** The largest distance from the baseline; without one, from the least value. */
export function reachOf({ low, high, baseline, reach = 0 }: Scale): number {
  return baseline === null ? high - low : Math.max(high - baseline, baseline - low, reach);
}

/** From 0 to 1 along the colour map; the baseline is at a half. */
export function fractionOf(scale: Scale, value: number): number {
  const reach = reachOf(scale) || 1;
  if (scale.baseline === null) return (value - scale.low) / reach;
  return ((value - scale.baseline) / reach + 1) / 2;
}

/** Whether a value is no farther from the baseline than the baseline is from itself. */
export function isNoise({ baseline, noise }: Scale, value: number): boolean {
  return baseline !== null && noise > 0 && Math.abs(value - baseline) <= noise;
}

/** A value with this scale's decimals. */
export function textOf(scale: Scale, value: number | null): string {
  return fixed(value, decimalsFor(reachOf(scale)));
}

/** How far a value is from the baseline, with its sign; nothing without a baseline. */
export function changeOf(scale: Scale, value: number): string {
  if (scale.baseline === null) return "";
  return signed(value - scale.baseline, decimalsFor(reachOf(scale)));
}

/** The same with colours that reach at least so far: one colour is then one distance on several scales. */
export function reaching(scale: Scale, reach: number): Scale {
  return scale.baseline === null ? scale : { ...scale, reach };
}
