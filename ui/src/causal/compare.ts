/** The difference of two sweeps, cell by cell, where both have the cell. */

import type { Hook, SweepSummary } from "../api/types";
import { MISSING_CELL } from "../widgets/heatmap/ring";
import type { Axes } from "./sweepView";

export interface Difference {
  readonly axes: Axes;
  readonly values: Readonly<Partial<Record<Hook, Float32Array>>>;
  /** Below this, a difference may be noise of either. */
  readonly noise: number;
  /** What a reader has to know before believing it. */
  readonly warnings: readonly string[];
}

/** Why two sweeps are not subtracted: numbers of different units have no difference. Null where they are. */
export function whyNot(one: SweepSummary, other: SweepSummary): string | null {
  if (one.metric === other.metric) return null;
  return `The metrics differ, ${one.metric} and ${other.metric}: numbers of different units are not subtracted.`;
}

/** `one` minus `other`; null when they have no cell in common, or different units. */
export function difference(one: SweepSummary, other: SweepSummary): Difference | null {
  if (whyNot(one, other) !== null) return null;
  const hooks = hooksOf(one).filter((hook) => hooksOf(other).includes(hook));
  const layers = one.layers.filter((layer) => other.layers.includes(layer));
  const positions = one.positions.filter((position) => other.positions.includes(position));
  if (hooks.length === 0 || layers.length === 0 || positions.length === 0) return null;
  const values = Object.fromEntries(
    hooks.map((hook) => {
      const mine = gridOf(one, hook);
      const theirs = gridOf(other, hook);
      const cells = layers.flatMap((layer) =>
        positions.map((position) => {
          const a = mine?.[one.layers.indexOf(layer)]?.[one.positions.indexOf(position)];
          const b = theirs?.[other.layers.indexOf(layer)]?.[other.positions.indexOf(position)];
          return typeof a === "number" && typeof b === "number" ? a - b : MISSING_CELL;
        }),
      );
      return [hook, Float32Array.from(cells)];
    }),
  );
  const axes: Axes = {
    layers,
    positions,
    hooks,
    metric: one.metric,
    baseline: 0,
    tokens: one.tokens.prompt,
  };
  return {
    axes,
    values,
    noise: (one.noise_floor ?? 0) + (other.noise_floor ?? 0),
    warnings: warnings(one, other, positions),
  };
}

/** One row a cell, with a heading; a cell that either lacks is empty. */
export function differenceTable({ axes, values }: Difference): string[][] {
  const { hooks, layers, positions, tokens } = axes;
  const rows = hooks.flatMap((hook) =>
    layers.flatMap((layer, row) =>
      positions.map((position, column) => {
        const value = values[hook]?.[row * positions.length + column] ?? Number.NaN;
        const text = Number.isFinite(value) ? String(value) : "";
        return [hook, String(layer), String(position), tokens[position] ?? "", text];
      }),
    ),
  );
  return [["hook", "layer", "position", "token", "difference"], ...rows];
}

/** Fields in which two requests differ, other than names that mean nothing: `alpha 0.5, not 1`. */
export function requestDifferences(one: Request, other: Request): string[] {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  const said = (value: unknown) =>
    value === undefined ? "none" : typeof value === "string" ? `“${value}”` : JSON.stringify(value);
  return [...names]
    .filter((name) => !IRRELEVANT.has(name) && said(one[name]) !== said(other[name]))
    .map((name) => `${name} ${said(one[name])}, not ${said(other[name])}`);
}

type Request = Readonly<Record<string, unknown>>;
const IRRELEVANT = new Set(["source_run", "keep_source", "stream", "logprobs", "hook"]);

function warnings(one: SweepSummary, other: SweepSummary, positions: readonly number[]): string[] {
  const found: string[] = [];
  const differing = positions.filter((position) => one.tokens.prompt[position] !== other.tokens.prompt[position]);
  if (differing.length > 0) {
    found.push(
      `At ${differing.length} of ${positions.length} positions the two corrupt prompts have different tokens; the labels are the first sweep's.`,
    );
  }
  return found;
}

function hooksOf(summary: SweepSummary): Hook[] {
  return summary.hook_grids?.map((each) => each.hook) ?? [summary.hook];
}

function gridOf(summary: SweepSummary, hook: Hook): (number | null)[][] | undefined {
  return (
    summary.hook_grids?.find((each) => each.hook === hook)?.grid ?? (summary.hook === hook ? summary.grid : undefined)
  );
}
