/**
 * Two sweeps of any kind side by side, and their difference where both have a cell. Both are tables here, as in
 * src/sonde/results/classic.py, so that sites, heads and means over pairs are compared by one rule.
 */

import type { SweepRecord, SweepSummary, SweepTable } from "../api/types";
import { grouped } from "../widgets/numbers";
import { reachOf } from "../widgets/scale";
import { overPairs } from "./pairs";
import { panelsOf, tableScale } from "./tables";

type Table = SweepTable["tables"][number];
type Axis = Table["axes"][number];
/** What of a table is compared. */
export type Found = Pick<SweepTable, "tables" | "metric" | "corrupt" | "clean" | "noise_floor" | "recovered_of">;

/** What a finished sweep found, as a table; many pairs by their means. Null of one without a result. */
export function foundOf({ summary, table }: Pick<SweepRecord, "summary" | "table">): Found | null {
  if (table) return table.pairs ? overPairs(table) : table;
  return summary && tableOfSummary(summary);
}

/** A classic summary as a table: one a hook, layers by positions. */
export function tableOfSummary(summary: SweepSummary): Found {
  const { metric, layers, positions, tokens } = summary;
  const axes: Axis[] = [
    { name: "layer", values: [...layers], labels: layers.map(String) },
    { name: "position", values: [...positions], labels: positions.map((position) => tokens.prompt[position] ?? "") },
  ];
  const grids = summary.hook_grids ?? [{ hook: summary.hook, grid: summary.grid }];
  return {
    tables: grids.map(({ hook, grid }) => ({ hook, kind: "cells", axes, values: { [metric]: grid.flat() } })),
    metric,
    corrupt: { [metric]: summary.corrupt },
    clean: summary.clean === null ? null : { [metric]: summary.clean },
    recovered_of: "logprob",
    noise_floor: { [metric]: summary.noise_floor },
  };
}

/** What the numbers are counted in: shares of two different things are two units. */
export function unitOf({ metric, recovered_of }: Pick<Found, "metric" | "recovered_of">): string {
  return metric === "recovered" ? `recovered (of ${recovered_of})` : metric;
}

/** Why two sweeps are not subtracted. Null where they are, which `made` is. */
export function whyNot(one: Found, other: Found, made = difference(one, other)): string | null {
  const [mine, theirs] = [unitOf(one), unitOf(other)];
  if (mine !== theirs) {
    return `The metrics differ, ${mine} and ${theirs}: numbers of different units are not subtracted.`;
  }
  return made === null ? "The two sweeps have no cell in common, so they have no difference." : null;
}

export interface Difference {
  readonly found: Found;
  /** What a reader has to know before believing it. */
  readonly warnings: readonly string[];
}

/** `one` minus `other` where both have a cell; null where there is none, or the units are not the same. */
export function difference(one: Found, other: Found): Difference | null {
  if (unitOf(one) !== unitOf(other)) return null;
  const { metric } = one;
  const tables = one.tables.flatMap((table) => {
    const same = other.tables.find((each) => isAlike(table, each));
    const made = same && minus(table, same, metric);
    return made ? [made] : [];
  });
  if (tables.length === 0) return null;
  const noise = (one.noise_floor[metric] ?? 0) + (other.noise_floor[metric] ?? 0);
  const found = { ...one, tables, corrupt: { [metric]: 0 }, clean: null, noise_floor: { [metric]: noise } };
  return { found, warnings: warnings(tables, other) };
}

function isAlike(one: Table, other: Table): boolean {
  const names = ({ axes }: Table) => axes.map(({ name }) => name).join();
  return one.hook === other.hook && isCells(one) && isCells(other) && names(one) === names(other);
}

function isCells({ kind }: Table): boolean {
  return (kind ?? "cells") === "cells";
}

function minus(one: Table, other: Table, metric: SweepTable["metric"]): Table | null {
  const axes = one.axes.map((axis, n) => common(axis, other.axes[n] ?? axis));
  if (axes.some((axis) => axis.values.length === 0)) return null;
  const values = places(axes).map((place) => {
    const a = at(one, metric, place);
    const b = at(other, metric, place);
    return a === null || b === null ? null : a - b;
  });
  return { hook: one.hook, kind: "cells", axes, values: { [metric]: values } };
}

/** What both axes have, with the labels of the first. */
function common(one: Axis, other: Axis): Axis {
  const kept = one.values.flatMap((value, n) => (other.values.includes(value) ? [n] : []));
  return {
    name: one.name,
    values: kept.map((n) => one.values[n] ?? n),
    labels: kept.map((n) => one.labels[n] ?? ""),
  };
}

type Place = readonly (number | string)[];

function places(axes: readonly Axis[]): Place[] {
  return axes.reduce<Place[]>((so, axis) => so.flatMap((before) => axis.values.map((value) => [...before, value])), [[]]);
}

function at({ axes, values }: Table, metric: SweepTable["metric"], place: Place): number | null {
  const index = axes.reduce((so, axis, n) => so * axis.values.length + axis.values.indexOf(place[n] ?? ""), 0);
  return values[metric]?.[index] ?? null;
}

function warnings(tables: readonly Table[], other: Found): string[] {
  const counted = new Set<string>();
  const differing = new Set<string>();
  for (const table of tables) {
    const theirs = other.tables.find((each) => isAlike(table, each))?.axes.find(({ name }) => name === "position");
    const mine = table.axes.find(({ name }) => name === "position");
    for (const [n, value] of (mine?.values ?? []).entries()) {
      counted.add(String(value));
      if (theirs?.labels[theirs.values.indexOf(value)] !== mine?.labels[n]) differing.add(String(value));
    }
  }
  if (differing.size === 0) return [];
  return [
    `At ${differing.size} of ${grouped(counted.size)} positions the two corrupt prompts have different tokens; the labels are the first sweep's.`,
  ];
}

/** One row a cell, with a heading; a cell that either lacks is empty. */
export function differenceTable({ found }: Difference): string[][] {
  const { tables, metric } = found;
  const names = (tables[0]?.axes ?? []).map(({ name }) => name);
  const rows = tables.flatMap((table) =>
    places(table.axes).map((place) => {
      const value = at(table, metric, place);
      const position = table.axes.findIndex(({ name }) => name === "position");
      const axis = table.axes[position];
      const token = axis?.labels[axis.values.indexOf(place[position] ?? "")] ?? "";
      return [table.hook, ...place.map(String), token, value === null ? "" : String(value)];
    }),
  );
  return [["hook", ...names, "token", "difference"], ...rows];
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

/** How far from their baselines both reach, so that one colour is one distance on both sides. */
export function reachOfBoth(one: Found, other: Found): number | undefined {
  if (unitOf(one) !== unitOf(other)) return undefined;
  return Math.max(...[one, other].map((found) => reachOf(tableScale(found, panelsOf(found)))));
}
