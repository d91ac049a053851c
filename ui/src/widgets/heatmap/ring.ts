/**
 * The numbers behind a heatmap: rows by columns in one Float32Array, column by column. When it is
 * full, a new column takes the place of the oldest, so a stream of any length has one size.
 *
 * NaN is a cell without a number yet; Infinity one that will never have one.
 */

export const PENDING = Number.NaN;
export const MISSING_CELL = Number.POSITIVE_INFINITY;

export class RingGrid {
  readonly rows: number;
  readonly capacity: number;
  /** Columns in use. */
  length = 0;
  /** Columns that were ever pushed; the first one in use is number `pushed - length`. */
  pushed = 0;
  /** Grows with every change. */
  version = 0;
  readonly #values: Float32Array;
  readonly #changed: Float64Array;

  constructor(rows: number, capacity: number) {
    this.rows = rows;
    this.capacity = Math.max(capacity, 1);
    this.#values = new Float32Array(this.rows * this.capacity).fill(PENDING);
    this.#changed = new Float64Array(this.capacity);
  }

  /** A grid whose columns are all there from the start, their numbers still to come. */
  static whole(rows: number, columns: number): RingGrid {
    const grid = new RingGrid(rows, columns);
    grid.length = grid.pushed = columns;
    return grid;
  }

  /** A grid with its numbers. */
  static from(rows: number, columns: number, value: (row: number, column: number) => number): RingGrid {
    const grid = RingGrid.whole(rows, columns);
    for (let column = 0; column < columns; column++) {
      for (let row = 0; row < rows; row++) grid.set(row, column, value(row, column));
    }
    return grid;
  }

  /** Add a column, which takes the place of the oldest when there is no room. */
  push(column: ArrayLike<number> | null = null): void {
    const slot = this.pushed % this.capacity;
    const start = slot * this.rows;
    for (let row = 0; row < this.rows; row++) {
      this.#values[start + row] = column?.[row] ?? PENDING;
    }
    this.pushed += 1;
    this.length = Math.min(this.length + 1, this.capacity);
    this.#touch(slot);
  }

  get(row: number, column: number): number {
    return this.#values[this.slot(column) * this.rows + row] ?? PENDING;
  }

  set(row: number, column: number, value: number): void {
    if (row < 0 || row >= this.rows || column < 0 || column >= this.length) return;
    const slot = this.slot(column);
    this.#values[slot * this.rows + row] = value;
    this.#touch(slot);
  }

  /** Where a column, counted from the oldest, is stored. */
  slot(column: number): number {
    return (this.pushed - this.length + column) % this.capacity;
  }

  /** The numbers of a stored column, without a copy. */
  column(slot: number): Float32Array {
    return this.#values.subarray(slot * this.rows, (slot + 1) * this.rows);
  }

  /** The version at which a stored column last changed. */
  changedAt(slot: number): number {
    return this.#changed[slot] ?? 0;
  }

  /** Whether some cell has this value. */
  has(value: number): boolean {
    for (let column = 0; column < this.length; column++) {
      if (this.column(this.slot(column)).includes(value)) return true;
    }
    return false;
  }

  /** All numbers in use that are numbers. */
  *finite(): Generator<number> {
    for (let column = 0; column < this.length; column++) {
      for (const value of this.column(this.slot(column))) {
        if (Number.isFinite(value)) yield value;
      }
    }
  }

  #touch(slot: number): void {
    this.version += 1;
    this.#changed[slot] = this.version;
  }
}
