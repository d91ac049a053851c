/**
 * Cells over time, of bounded size. Steps: the newest so many, the oldest let go. Tokens of one
 * step: all of them, in columns that become twice as wide when there are too many.
 */

import { addCell, emptyCell, ROW_LENGTH, type Cell } from "./cells";

export class Timeline {
  /** A column is 2 to the power of this many steps or tokens. */
  level = 0;
  readonly #columns = new Map<number, Map<number, Cell>>();
  readonly #changed = new Map<number, Set<number>>();
  readonly #capacity: number;
  readonly #overflow: "drop" | "widen";

  constructor(capacity: number, overflow: "drop" | "widen") {
    this.#capacity = capacity;
    this.#overflow = overflow;
  }

  get size(): number {
    return this.#columns.size;
  }

  /** Columns that are there, by when they begin, in units of their width. */
  columns(): IterableIterator<number> {
    return this.#columns.keys();
  }

  layersAt(column: number): ReadonlyMap<number, Cell> | undefined {
    return this.#columns.get(column);
  }

  /** The cell to add a record of this time to. */
  touch(time: number, layer: number): Cell {
    const column = Math.floor(time / 2 ** this.level);
    let layers = this.#columns.get(column);
    if (layers === undefined) {
      if (this.#columns.size >= this.#capacity) {
        this.#makeRoom();
        return this.touch(time, layer);
      }
      layers = new Map();
      this.#columns.set(column, layers);
    }
    let cell = layers.get(layer);
    if (cell === undefined) {
      cell = emptyCell();
      layers.set(layer, cell);
    }
    this.#mark(column, layer);
    return cell;
  }

  /** Forget everything from a time on: what follows replaces it. */
  dropFrom(time: number): void {
    for (const column of [...this.#columns.keys()]) {
      if (column * 2 ** this.level >= time) this.#forget(column);
    }
  }

  clear(): void {
    this.#columns.clear();
    this.#changed.clear();
    this.level = 0;
  }

  /** Cells that changed since this was last asked, as rows of numbers. */
  takeChanged(): Float64Array {
    const cells: [number, number, Cell][] = [];
    for (const [column, layers] of this.#changed) {
      for (const layer of layers) {
        const cell = this.#columns.get(column)?.get(layer);
        if (cell) cells.push([column, layer, cell]);
      }
    }
    this.#changed.clear();
    return asRows(cells);
  }

  /** All cells, as rows of numbers. */
  rows(): Float64Array {
    const cells: [number, number, Cell][] = [];
    for (const [column, layers] of this.#columns) {
      for (const [layer, cell] of layers) cells.push([column, layer, cell]);
    }
    return asRows(cells);
  }

  /** Put rows of another timeline here, in place of what is there. */
  put(rows: Float64Array): void {
    for (let at = 0; at + ROW_LENGTH <= rows.length; at += ROW_LENGTH) {
      const column = rows[at] ?? 0;
      let layers = this.#columns.get(column);
      if (layers === undefined) {
        if (this.#columns.size >= this.#capacity) this.#makeRoom();
        layers = new Map();
        this.#columns.set(column, layers);
      }
      layers.set(rows[at + 1] ?? 0, rows.slice(at + 2, at + ROW_LENGTH));
    }
  }

  #mark(column: number, layer: number): void {
    const layers = this.#changed.get(column);
    if (layers === undefined) this.#changed.set(column, new Set([layer]));
    else layers.add(layer);
  }

  #forget(column: number): void {
    this.#columns.delete(column);
    this.#changed.delete(column);
  }

  #makeRoom(): void {
    if (this.#overflow === "drop") {
      const [oldest] = this.#columns.keys(); // times come in order
      if (oldest !== undefined) this.#forget(oldest);
      return;
    }
    const before = [...this.#columns];
    this.#columns.clear();
    this.#changed.clear();
    this.level += 1;
    for (const [column, layers] of before) {
      for (const [layer, cell] of layers) addCell(this.touch(column * 2 ** (this.level - 1), layer), cell);
    }
  }
}

function asRows(cells: readonly [number, number, Cell][]): Float64Array {
  const rows = new Float64Array(cells.length * ROW_LENGTH);
  cells.forEach(([column, layer, cell], index) => {
    const at = index * ROW_LENGTH;
    rows[at] = column;
    rows[at + 1] = layer;
    rows.set(cell, at + 2);
  });
  return rows;
}
