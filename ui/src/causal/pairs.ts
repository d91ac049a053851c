/** Many pairs: their means, what is significant, and one cell's pairs. */

import type { PromptPair, SweepTable } from "../api/types";

type Table = SweepTable["tables"][number];

/** The same table without its pairs: every cell the mean over them, of `recovered` the ratio of means. */
export function overPairs(found: SweepTable): SweepTable {
  const gaps = (found.pairs ?? []).map(({ clean, corrupt }) => (clean.recovered ?? 0) - (corrupt.recovered ?? 0));
  const weights = found.metric === "recovered" ? gaps : gaps.map(() => 1);
  return { ...found, tables: found.tables.map((table) => meanOf(table, found.metric, weights)) };
}

function meanOf(table: Table, metric: SweepTable["metric"], weights: readonly number[]): Table {
  if (table.axes[0]?.name !== "pair") return table;
  const { size, values } = byPair(table, metric);
  const means = Array.from({ length: size }, (_, cell) => {
    let total = 0;
    let share = 0;
    for (const [pair, weight] of weights.entries()) {
      const value = values[pair * size + cell];
      if (value == null) continue;
      total += weight * value;
      share += weight;
    }
    return share === 0 ? null : total / share;
  });
  return { ...table, axes: table.axes.slice(1), values: { [metric]: means } };
}

function byPair(table: Table, metric: SweepTable["metric"]) {
  const size = table.axes.slice(1).reduce((n, axis) => n * axis.values.length, 1);
  return { size, values: table.values[metric] ?? [] };
}

/** What every pair says of one cell. */
export function pairsOfCell(found: SweepTable, table: number, cell: number): (number | null)[] {
  const one = found.tables[table];
  if (one === undefined || one.axes[0]?.name !== "pair") return [];
  const { size, values } = byPair(one, found.metric);
  return one.axes[0].values.map((_, pair) => values[pair * size + cell] ?? null);
}

export interface CellStatistics {
  readonly n: number;
  readonly mean: number | null;
  readonly low: number | null;
  readonly high: number | null;
  /** Family-wise. */
  readonly p: number | null;
}

export const LEVEL = 0.05;

/** The server's statistics (results/pair_tables.py): one line a cell, in the order of the tables' cells. */
export function statisticsOf(csv: string): CellStatistics[] {
  const [head = "", ...lines] = csv.trimEnd().split("\n");
  const names = fieldsOf(head);
  const column = (name: string) => names.indexOf(name);
  const number = (fields: readonly string[], name: string) => {
    const text = fields[column(name)] ?? "";
    return text === "" ? null : Number(text);
  };
  return lines.map((line) => {
    const fields = fieldsOf(line);
    return {
      n: number(fields, "n") ?? 0,
      mean: number(fields, "mean"),
      low: number(fields, "low"),
      high: number(fields, "high"),
      p: number(fields, "p"),
    };
  });
}

/** One line as Python's csv writes it: words in quotes, numbers without. */
function fieldsOf(line: string): string[] {
  return Array.from(line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g), (match) =>
    match[1] === undefined ? (match[2] ?? "") : match[1].replaceAll('""', '"'),
  );
}

/** `agreement:40` -> its name and how many. */
export function taskOf(text: string): { readonly name: string; readonly n: number } | null {
  const [, name, n = "40"] = /^([a-z][a-z-]*)(?::([1-9]\d{0,3}))?$/.exec(text) ?? [];
  return name === undefined ? null : { name, n: Number(n) };
}

/** The pairs of a file of JSON lines; an error that names the line. */
export function pairsOfFile(text: string): PromptPair[] {
  const lines = text.split("\n").map((line, n) => ({ line: line.trim(), n: n + 1 }));
  const pairs = lines.filter(({ line }) => line !== "").map(({ line, n }) => pairOfLine(line, n));
  if (pairs.length === 0) throw new Error("The file holds no pairs: write one a line, as JSON.");
  return pairs;
}

function pairOfLine(line: string, n: number): PromptPair {
  const found = parsed(line);
  if (typeof found !== "object" || found === null) throw new Error(`Line ${n} is not JSON: a pair is {"clean": …, "corrupt": …, "answer": …}.`);
  for (const name of ["clean", "corrupt", "answer"]) {
    if (!(name in found)) throw new Error(`Line ${n}: field “${name}” is missing.`);
  }
  return found as PromptPair; // the server checks the rest, and says what is wrong
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Every pair has these roles: what can be columns. */
export function sharedRoles(pairs: readonly PromptPair[]): string[] {
  const [first, ...others] = pairs.map(({ roles }) => Object.keys(roles ?? {}));
  return (first ?? []).filter((role) => others.every((each) => each.includes(role)));
}
