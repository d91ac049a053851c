/**
 * One pixel a cell, kept in step with a ring of columns: only columns that changed are coloured
 * again, and drawing scales the bitmap up, in two pieces where the ring wraps around.
 */

import { entry, lookup, type Theme } from "../colors";
import { fractionOf, kindOf, type Scale } from "../scale";
import type { RingGrid } from "./ring";

/** The pixel of a cell without a number: nothing, so that the surface shows. */
const CLEAR = 0;

/** Colour one stored column from the top of the picture down, which is the last row first. */
export function paintColumn(values: Float32Array, scale: Scale, table: Uint32Array, pixels: Uint32Array): void {
  const last = values.length - 1;
  for (let row = 0; row <= last; row++) {
    const value = values[last - row] ?? Number.NaN;
    pixels[row] = Number.isFinite(value) ? (table[entry(fractionOf(scale, value))] ?? CLEAR) : CLEAR;
  }
}

export class Bitmap {
  readonly #canvas: OffscreenCanvas;
  readonly #context: OffscreenCanvasRenderingContext2D | null;
  readonly #column: ImageData;
  readonly #grid: RingGrid;
  #scale: Scale | null = null;
  #theme: Theme | null = null;
  #table: Uint32Array = new Uint32Array(0);
  #painted = -1;

  constructor(grid: RingGrid) {
    this.#grid = grid;
    this.#canvas = new OffscreenCanvas(grid.capacity, Math.max(grid.rows, 1));
    this.#context = this.#canvas.getContext("2d");
    this.#column = new ImageData(1, Math.max(grid.rows, 1));
  }

  /** Bring the bitmap up to date. A new scale or theme colours everything anew. */
  update(scale: Scale, theme: Theme): void {
    if (!sameScale(scale, this.#scale) || theme !== this.#theme) {
      this.#scale = scale;
      this.#theme = theme;
      this.#table = lookup(kindOf(scale), theme);
      this.#painted = -1;
    }
    const pixels = new Uint32Array(this.#column.data.buffer);
    const grid = this.#grid;
    for (let slot = 0; slot < Math.min(grid.pushed, grid.capacity); slot++) {
      if (grid.changedAt(slot) <= this.#painted) continue;
      paintColumn(grid.column(slot), scale, this.#table, pixels);
      this.#context?.putImageData(this.#column, slot, 0);
    }
    this.#painted = grid.version;
  }

  /** Draw the columns in use, oldest first, into a rectangle. */
  draw(to: CanvasRenderingContext2D, width: number, height: number): void {
    const { length, rows, capacity } = this.#grid;
    if (length === 0 || rows === 0) return;
    to.imageSmoothingEnabled = false;
    const first = this.#grid.slot(0);
    const before = Math.min(length, capacity - first);
    const cell = width / length;
    to.drawImage(this.#canvas, first, 0, before, rows, 0, 0, before * cell, height);
    const after = length - before;
    if (after > 0) to.drawImage(this.#canvas, 0, 0, after, rows, before * cell, 0, after * cell, height);
  }
}

function sameScale(one: Scale, other: Scale | null): boolean {
  return other !== null && one.low === other.low && one.high === other.high && one.baseline === other.baseline;
}
