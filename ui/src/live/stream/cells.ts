/**
 * Sums of records by time and layer. Extremes are kept, so a spike of one token shows however many
 * records a cell stands for. A cell is an array of numbers: cells cross from worker to page by the
 * thousand.
 */

/** Of one record: its strongest activation, its reconstruction loss, how many features it has. */
export const MEASURES = ["activation", "loss", "active"] as const;
export type Measure = (typeof MEASURES)[number];

const COUNT = 0;
const SUM = 1;
const LOW = 2;
const HIGH = 3;
const PER_MEASURE = 4;
const RECORDS = 0;
const FIRST = 1;
const CELL_LENGTH = FIRST + PER_MEASURE * MEASURES.length;
/** A cell on its way to a page: time, layer, then the cell. */
export const ROW_LENGTH = CELL_LENGTH + 2;

export type Cell = Float64Array;

/** What is known of one measure in a cell. */
export interface Stat {
  readonly count: number;
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

export function emptyCell(): Cell {
  const cell = new Float64Array(CELL_LENGTH);
  for (let at = FIRST; at < CELL_LENGTH; at += PER_MEASURE) {
    cell[at + LOW] = Number.POSITIVE_INFINITY;
    cell[at + HIGH] = Number.NEGATIVE_INFINITY;
  }
  return cell;
}

/** Add one record; null is a value that is missing. */
export function addRecord(cell: Cell, activation: number | null, loss: number | null, active: number): void {
  cell[RECORDS] = (cell[RECORDS] ?? 0) + 1;
  addValue(cell, 0, activation);
  addValue(cell, 1, loss);
  addValue(cell, 2, active);
}

function addValue(cell: Cell, measure: number, value: number | null): void {
  if (value === null) return;
  const at = FIRST + measure * PER_MEASURE;
  cell[at + COUNT] = (cell[at + COUNT] ?? 0) + 1;
  cell[at + SUM] = (cell[at + SUM] ?? 0) + value;
  cell[at + LOW] = Math.min(cell[at + LOW] ?? value, value);
  cell[at + HIGH] = Math.max(cell[at + HIGH] ?? value, value);
}

/** Add one cell to another. */
export function addCell(into: Cell, from: Cell): void {
  into[RECORDS] = (into[RECORDS] ?? 0) + (from[RECORDS] ?? 0);
  for (let at = FIRST; at < CELL_LENGTH; at += PER_MEASURE) {
    into[at + COUNT] = (into[at + COUNT] ?? 0) + (from[at + COUNT] ?? 0);
    into[at + SUM] = (into[at + SUM] ?? 0) + (from[at + SUM] ?? 0);
    into[at + LOW] = Math.min(into[at + LOW] ?? 0, from[at + LOW] ?? 0);
    into[at + HIGH] = Math.max(into[at + HIGH] ?? 0, from[at + HIGH] ?? 0);
  }
}

export function recordsOf(cell: Cell): number {
  return cell[RECORDS] ?? 0;
}

/** One measure of a cell; null where no record had a value. */
export function statOf(cell: Cell, measure: Measure): Stat | null {
  const at = FIRST + MEASURES.indexOf(measure) * PER_MEASURE;
  const count = cell[at + COUNT] ?? 0;
  if (count === 0) return null;
  return { count, mean: (cell[at + SUM] ?? 0) / count, low: cell[at + LOW] ?? 0, high: cell[at + HIGH] ?? 0 };
}
