/** The live state of a table, from its events: a pure reducer. What it shows is a table at any time. */

import type { DroppedPair, SweepTable, TableCell, TableEvent, TablePair, TableStart } from "../api/types";

export interface TableView {
  /** The table so far; over many pairs their means so far. Null before the axes are known. */
  readonly found: SweepTable | null;
  readonly finished: boolean;
  readonly cells: number;
  readonly done: number;
  /** Pairs so far. */
  readonly pairs: number;
  /** Cells that were run to verify scores, so far. */
  readonly verified: number;
  readonly dropped: readonly DroppedPair[];
  readonly failure: string | null;
}

export const EMPTY_TABLE: TableView = {
  found: null,
  finished: false,
  cells: 0,
  done: 0,
  pairs: 0,
  verified: 0,
  dropped: [],
  failure: null,
};

export function reduceTable(view: TableView, events: readonly TableEvent[]): TableView {
  const cells = events.filter((event) => event.type === "cell");
  const begun = events.reduce((so, event) => (event.type === "start" ? started(event) : so), view);
  const filled = cells.length > 0 ? withCells(begun, cells) : begun;
  return events.reduce(other, filled);
}

function started(event: TableStart): TableView {
  const tables = event.tables.map((table) => {
    const axes = table.axes.filter((axis) => axis.name !== "pair");
    const size = axes.reduce((n, axis) => n * axis.values.length, 1);
    return { ...table, axes, values: { [event.metric]: Array.from({ length: size }, () => null) } };
  });
  const found = {
    tables,
    metric: event.metric,
    corrupt: event.corrupt,
    clean: event.clean,
    noise_floor: {},
    warnings: [],
    notes: {},
    tokens: event.tokens,
  };
  return { ...EMPTY_TABLE, found: found as unknown as SweepTable, cells: event.cells, dropped: event.dropped ?? [] };
}

function withCells(view: TableView, cells: readonly TableCell[]): TableView {
  if (view.found === null) return view;
  const { metric } = view.found;
  const copies = new Map<number, (number | null)[]>();
  for (const { table, at, values } of cells) {
    const axes = view.found.tables[table]?.axes ?? [];
    const copy = copies.get(table) ?? [...(view.found.tables[table]?.values[metric] ?? [])];
    copy[axes.reduce((index, axis, n) => index * axis.values.length + (at[n] ?? 0), 0)] = values[metric] ?? null;
    copies.set(table, copy);
  }
  const tables = view.found.tables.map((table, n) => {
    const values = copies.get(n);
    return values === undefined ? table : { ...table, values: { ...table.values, [metric]: values } };
  });
  return { ...view, found: { ...view.found, tables }, done: view.done + cells.length };
}

function other(view: TableView, event: TableEvent): TableView {
  switch (event.type) {
    case "pair":
      return withPair(view, event);
    case "dropped":
      return { ...view, dropped: [...view.dropped, event.dropped], pairs: event.done };
    case "verifying":
      return { ...view, verified: event.done };
    case "summary":
      return { ...view, found: event, finished: true, done: view.cells, dropped: event.dropped ?? view.dropped };
    case "error":
      return { ...view, failure: event.error };
    default:
      return view;
  }
}

function withPair(view: TableView, { means, values, done }: TablePair): TableView {
  if (view.found === null) return view;
  const { metric } = view.found;
  const tables = view.found.tables.map((table, n) => ({ ...table, values: { ...table.values, [metric]: means[n] ?? [] } }));
  const cells = values.reduce((n, row) => n + (Object.values(row)[0]?.length ?? 0), 0);
  return { ...view, found: { ...view.found, tables }, pairs: done, done: view.done + cells };
}

export function isTableOver(view: TableView): boolean {
  return view.finished || view.failure !== null;
}
