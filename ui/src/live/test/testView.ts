/**
 * A test of features as it fills: what changing each did, beside random directions of the same length.
 * Pure: events in, rows out. p is as in src/sonde/results/feature_table.py.
 */

import type { RewardFound, TableEvent, TableStart, TableSummary } from "../../api/tests";
import type { SweepTable } from "../../api/types";
import { decimalsFor, number, signed } from "../../widgets/numbers";

export interface FeatureRow {
  /** Null for a row that is no single feature. */
  readonly feature: number | null;
  readonly label: string;
  /** How far the metric moves when it is changed at all of its positions; undefined until it was run. */
  readonly effect: number | null | undefined;
  /** The same of each random direction that was run so far. */
  readonly random: readonly (number | null)[];
}

export interface TestView {
  readonly start: TableStart | null;
  readonly rows: readonly FeatureRow[];
  /** Random directions beside each row, when all have been run. */
  readonly draws: number;
  readonly done: number;
  readonly cells: number;
  readonly summary: TableSummary | null;
  readonly failure: string | null;
  /** What is done before there are cells: the checkpoint is loaded, or completions are sampled. */
  readonly loading: string | null;
  /** Of a test of the reward, what has come of it so far. */
  readonly reward: RewardFound | null;
}

export const EMPTY_TEST: TestView = {
  start: null,
  rows: [],
  draws: 0,
  done: 0,
  cells: 0,
  summary: null,
  failure: null,
  loading: null,
  reward: null,
};

export function reduceTest(view: TestView, events: readonly TableEvent[]): TestView {
  return events.reduce(hear, view);
}

function hear(view: TestView, event: TableEvent): TestView {
  switch (event.type) {
    case "loading":
      return { ...view, loading: event.message };
    case "start":
      return started(event);
    case "cell":
      return withCell(view, event.table, event.at, event.values);
    case "sampling":
      return { ...view, loading: `sampling with ${event.label}: ${event.done} of ${event.of} completions` };
    case "reward":
      return { ...view, reward: event.found };
    case "summary":
      return { ...view, summary: event, loading: null, reward: event.reward ?? view.reward };
    case "error":
      return { ...view, failure: event.error, loading: null };
  }
}

function started(start: TableStart): TestView {
  const [axis] = start.tables[0]?.axes ?? [];
  const rows = (axis?.values ?? []).map((value, index) => ({
    feature: typeof value === "number" ? value : null,
    label: axis?.labels[index] ?? String(value),
    effect: undefined,
    random: [],
  }));
  const beside = start.tables.find((table) => table.kind === "random_direction");
  return { ...EMPTY_TEST, start, rows, cells: start.cells, draws: beside?.axes[1]?.values.length ?? 0 };
}

function withCell(
  view: TestView,
  table: number,
  at: readonly number[],
  values: Readonly<Record<string, number | null>>,
): TestView {
  const found = view.start?.tables[table];
  const [row, column] = at;
  const before = row === undefined ? undefined : view.rows[row];
  if (view.start === null || found === undefined || before === undefined || column === undefined) return view;
  const done = { ...view, done: view.done + 1 };
  const effect = effectOf(values[view.start.metric], zeroOf(view.start));
  const places = found.axes[1]?.values.length ?? 0;
  const kind = found.kind ?? "cells";
  if (kind === "cells" && column === places - 1) return { ...done, rows: view.rows.with(row ?? 0, { ...before, effect }) };
  if (kind === "random_direction")
    return { ...done, rows: view.rows.with(row ?? 0, { ...before, random: [...before.random, effect] }) };
  return done;
}

/** The metric with nothing changed. */
function zeroOf({ metric, corrupt }: TableStart): number | null {
  return metric === "recovered" ? 0 : (corrupt[metric] ?? null);
}

function effectOf(value: number | null | undefined, zero: number | null): number | null {
  return value === null || value === undefined || zero === null ? null : value - zero;
}

/** How often a random direction does at least as much as the feature, counting the feature; null while it is not known. */
export function pValue({ effect, random }: FeatureRow, draws: number): number | null {
  if (effect === null || effect === undefined || random.length < draws || draws === 0) return null;
  const known = random.filter((each) => each !== null);
  if (known.length < draws) return null;
  return (1 + known.filter((each) => Math.abs(each) >= Math.abs(effect)).length) / (1 + draws);
}

/** Why a feature is here, in the order of what says most. */
export type Chosen = "attribution" | "asked" | "brightest";

export interface AskedFor {
  /** So many come first by attribution; whatever follows stands beside them. */
  readonly top: number;
  readonly also: readonly number[];
  /** As the server names them at the end. */
  readonly brightest: readonly number[];
}

export function chosenHow({ feature }: FeatureRow, index: number, asked: AskedFor): Chosen[] {
  if (feature === null) return [];
  const how: Chosen[] = index < asked.top ? ["attribution"] : [];
  if (asked.also.includes(feature)) how.push("asked");
  if (asked.brightest.includes(feature) || how.length === 0) how.push("brightest");
  return how;
}

const GROUPS: readonly (readonly [Chosen, string])[] = [
  ["attribution", "features that attribution put first"],
  ["asked", "features that were asked about"],
  ["brightest", "brightest at the last token"],
];

/** In one line: how many of those chosen by attribution, and of the others, move the metric more than every direction. */
export function verdictOf({ rows, draws }: Pick<TestView, "rows" | "draws">, asked: AskedFor, level = 0.05): string {
  const judged = rows.flatMap((row, index) => {
    const how = chosenHow(row, index, asked);
    return how.length === 0 ? [] : [{ how, p: pValue(row, draws) }];
  });
  const beyond = (some: typeof judged) => some.filter(({ p }) => p !== null && p <= level).length;
  const [first, ...others] = GROUPS.flatMap(([kind, words]) => {
    const some = judged.filter(({ how }) => how.includes(kind));
    const told = kind !== "asked" || !judged.some(({ how }) => how.includes("attribution"));
    return some.length === 0 || !told ? [] : [{ n: some.length, words, beyond: beyond(some) }];
  });
  if (first === undefined) return "No feature is active here.";
  const compared = others.map(({ n, words, beyond: far }) => `; of the ${n} ${words}, ${far}`).join("");
  const said = `Of ${first.n} ${first.words}, ${first.beyond} move the answer more than all ${draws} random directions of the same length${compared}.`;
  const chance = (level * judged.length).toFixed(1);
  return beyond(judged) === 0 ? said : `${said} By chance alone it would be ${chance} of ${judged.length}.`;
}

/**
 * The finding in one line: the feature that matters most, and by how much beside random directions; where none is
 * beyond these, the one that comes nearest. Null before anything has been run.
 */
export function findingOf({ rows, draws }: Pick<TestView, "rows" | "draws">, done: string, metric: string, level = 0.05): string | null {
  const known = rows
    .flatMap((row) => (row.feature === null || typeof row.effect !== "number" ? [] : [{ ...row, effect: row.effect, p: pValue(row, draws) }]))
    .toSorted((one, other) => Math.abs(other.effect) - Math.abs(one.effect));
  const sure = known.find(({ p }) => p !== null && p <= level);
  const most = sure ?? known[0];
  if (most === undefined) return null;
  const { label, effect, p } = most;
  const random = most.random.filter((each) => each !== null);
  const beside = random.length === 0 ? "" : `, ${random.length} random directions as long by at most ${number(Math.max(...random.map(Math.abs)))}`;
  const said = `${done}, it moves ${metric} by ${signed(effect, decimalsFor(effect))}${beside}${p === null ? "" : ` (p ${number(p)}, by itself)`}.`;
  return sure ? `${label} matters: ${said}` : `None is beyond chance; the most is ${label}: ${said}`;
}

/** What random directions beside a feature did, from the least to the most. */
export function randomText({ random }: Pick<FeatureRow, "random">, decimals: number): string {
  const known = random.filter((each) => each !== null);
  return known.length === 0 ? "" : `${signed(Math.min(...known), decimals)} to ${signed(Math.max(...known), decimals)}`;
}

/** The furthest that any bar or direction reaches: where the scale ends. */
export function reachOf(rows: readonly FeatureRow[]): number {
  const all = rows.flatMap(({ effect, random }) => [effect ?? 0, ...random.map((each) => each ?? 0)]);
  return Math.max(1e-9, ...all.map(Math.abs));
}

/** A finished result as the events that would have told it. */
export function tableEventsOf(found: SweepTable): TableEvent[] {
  const cells = found.tables.flatMap((table, number) => {
    const width = table.axes[1]?.values.length ?? 1;
    const values = table.values[found.metric] ?? [];
    return values.map((value, place): TableEvent => {
      const at = [Math.floor(place / width), place % width];
      return { type: "cell", table: number, at, values: { [found.metric]: value } };
    });
  });
  return [{ ...found, type: "start", cells: cells.length }, ...cells];
}
