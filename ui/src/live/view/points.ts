/** A scatter's points in the order in which they are drawn, and its correlations in words. */

import type { Correlation, Scatter } from "../../api/analytics";
import { fixed } from "../../widgets/numbers";

export interface Points {
  readonly x: readonly number[];
  readonly passed: readonly (number | null)[];
  readonly failed: readonly (number | null)[];
  readonly generations: readonly string[];
  readonly nPassed: number;
  readonly nFailed: number;
}

export function pointsOf({ points }: Pick<Scatter, "points">): Points {
  const order = points.loss.map((_, index) => index).sort((a, b) => (points.loss[a] ?? 0) - (points.loss[b] ?? 0));
  const rewards = (passed: boolean) =>
    order.map((index) => ((points.gate[index] === true) === passed ? (points.R[index] ?? null) : null));
  const [passed, failed] = [rewards(true), rewards(false)];
  return {
    x: order.map((index) => points.loss[index] ?? 0),
    passed,
    failed,
    generations: order.map((index) => points.generation_id[index] ?? ""),
    nPassed: passed.filter((value) => value !== null).length,
    nFailed: failed.filter((value) => value !== null).length,
  };
}

export const AMONG_TEXT: Record<Correlation["among"], string> = {
  all: "all generations",
  passed: "gate passed",
  failed: "gate failed",
  "within groups": "within groups of one prompt",
};

/** `−0.31 (−0.52 to −0.06)`, or why there is none. */
export function coefficientText(of: Correlation["pearson"], reason: string | null): string {
  if (!of) return reason ?? "none";
  const interval = of.low === null || of.high === null ? "" : ` (${fixed(of.low, 2)} to ${fixed(of.high, 2)})`;
  return fixed(of.r, 2) + interval;
}
