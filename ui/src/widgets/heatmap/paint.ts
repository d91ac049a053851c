/** What is drawn over the coloured cells: rules, hatching, crosses, marks and the cursor. */

import { isNoise, type Scale } from "../scale";
import type { Place } from "./cursor";
import type { RingGrid } from "./ring";

export interface Inks {
  readonly surface: string;
  readonly ink: string;
  readonly muted: string;
  readonly hatch: string;
  readonly accent: string;
  readonly empty: string;
}

export interface Geometry {
  readonly rows: number;
  readonly columns: number;
  readonly cellWidth: number;
  readonly cellHeight: number;
}

export interface Mark extends Place {
  readonly kind: "max" | "min";
}

const WORTH_RULING = 6;
const HATCH_STEP = 4;

/** Sizes of a cell, as on Sonde's pages. */
export function cellSize(rows: number, columns: number): { width: number; height: number } {
  const width = columns <= 12 ? 28 : columns <= 24 ? 22 : columns <= 48 ? 16 : 11;
  return { width, height: rows <= 12 ? 22 : rows <= 60 ? 14 : 8 };
}

const LEAST_WIDTH = 5;
const LABEL_WIDTH = 11;

/** The same where there is so much room: a wide grid is drawn narrower, so that all of it is seen. */
export function cellSizeIn(room: number, rows: number, columns: number): { width: number; height: number } {
  const { width, height } = cellSize(rows, columns);
  const narrow = Math.max(Math.floor(room / Math.max(columns, 1)), LEAST_WIDTH);
  return { width: room > 0 ? Math.min(width, narrow) : width, height };
}

/** How many labels fit under columns of this width. */
export function labelsUnder(columns: number, width: number): number {
  return Math.max(Math.min(columns, Math.floor((columns * width) / LABEL_WIDTH)), 1);
}

/** Every how many rows, or columns, one has a label. */
export function labelStep(n: number, most: number): number {
  return [1, 2, 5, 10, 20, 50, 100, 200, 500].find((step) => n / step <= most) ?? 1000;
}

/** Lines of the surface between cells, where cells are large enough to have some. */
export function rule(to: CanvasRenderingContext2D, at: Geometry, inks: Inks): void {
  const { rows, columns, cellWidth, cellHeight } = at;
  if (Math.min(cellWidth, cellHeight) < WORTH_RULING) return;
  to.fillStyle = inks.surface;
  for (let column = 0; column < columns; column++) {
    to.fillRect((column + 1) * cellWidth - 1, 0, 1, rows * cellHeight);
  }
  for (let row = 0; row < rows; row++) {
    to.fillRect(0, (row + 1) * cellHeight - 1, columns * cellWidth, 1);
  }
}

/** Whether a cell, by its row and column in the grid, cannot be told from the baseline for reasons beyond the scale's. */
export type Doubtful = (row: number, column: number) => boolean;

/** Hatching where a value cannot be told from the baseline, a cross where there is no number. */
export function annotate(
  to: CanvasRenderingContext2D,
  grid: RingGrid,
  scale: Scale,
  at: Geometry,
  inks: Inks,
  doubtful?: Doubtful,
): void {
  const { cellWidth, cellHeight } = at;
  for (let column = 0; column < at.columns; column++) {
    for (let row = 0; row < at.rows; row++) {
      const value = grid.get(at.rows - 1 - row, column);
      const x = column * cellWidth;
      const y = row * cellHeight;
      if (value === Number.POSITIVE_INFINITY) cross(to, x, y, at, inks.muted);
      else if (isNoise(scale, value) || doubtful?.(at.rows - 1 - row, column)) hatch(to, x, y, at, inks.hatch);
    }
  }
}

function hatch(to: CanvasRenderingContext2D, x: number, y: number, at: Geometry, ink: string): void {
  const { cellWidth: width, cellHeight: height } = at;
  to.save();
  to.beginPath();
  to.rect(x, y, width - 1, height - 1);
  to.clip();
  to.beginPath();
  for (let start = -height; start < width; start += HATCH_STEP) {
    to.moveTo(x + start, y + height);
    to.lineTo(x + start + height, y);
  }
  to.strokeStyle = ink;
  to.lineWidth = 1;
  to.stroke();
  to.restore();
}

function cross(to: CanvasRenderingContext2D, x: number, y: number, at: Geometry, ink: string): void {
  const arm = Math.min(at.cellWidth, at.cellHeight) / 5;
  const middleX = x + at.cellWidth / 2;
  const middleY = y + at.cellHeight / 2;
  to.beginPath();
  to.moveTo(middleX - arm, middleY - arm);
  to.lineTo(middleX + arm, middleY + arm);
  to.moveTo(middleX - arm, middleY + arm);
  to.lineTo(middleX + arm, middleY - arm);
  to.strokeStyle = ink;
  to.lineWidth = 1;
  to.stroke();
}

/** A ring around the largest value, a dashed one around the smallest. */
export function drawMark(to: CanvasRenderingContext2D, mark: Mark, at: Geometry, inks: Inks): void {
  frame(to, mark, at, inks.surface, 5, []);
  frame(to, mark, at, inks.ink, 2, mark.kind === "min" ? [3, 3] : []);
}

export function drawCursor(to: CanvasRenderingContext2D, place: Place, at: Geometry, inks: Inks): void {
  frame(to, place, at, inks.accent, 2, []);
}

function frame(
  to: CanvasRenderingContext2D,
  { row, column }: Place,
  { cellWidth, cellHeight }: Geometry,
  ink: string,
  width: number,
  dashes: number[],
): void {
  to.strokeStyle = ink;
  to.lineWidth = width;
  to.setLineDash(dashes);
  to.strokeRect(column * cellWidth - 0.5, row * cellHeight - 0.5, cellWidth, cellHeight);
  to.setLineDash([]);
}
