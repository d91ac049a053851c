/**
 * Which stretch of time is shown, and in how many columns. Columns are powers of two wide and counted
 * from 0, as the server's are, so that a column stays what it is while a run grows.
 */

import { grouped } from "../../widgets/numbers";

export type Window =
  | { readonly kind: "all" }
  /** The newest so many: what is shown moves on. */
  | { readonly kind: "last"; readonly n: number }
  /** From here to before there. */
  | { readonly kind: "fixed"; readonly from: number; readonly to: number };

/** The first time there is, and the last. */
export interface Extent {
  readonly first: number;
  readonly last: number;
}

export interface Axis {
  readonly level: number;
  readonly width: number;
  /** Where the first column begins. */
  readonly start: number;
  readonly columns: number;
}

const PIXELS_A_COLUMN = 5;

/** How many columns there is room for. */
export function columnsIn(pixels: number): number {
  return Math.max(Math.min(Math.floor(pixels / PIXELS_A_COLUMN), 256), 16);
}

/** Zooming in ends at so much time. */
const LEAST = 2;
const MOST_LEVEL = 40;

export function rangeOf(window: Window, extent: Extent): { from: number; to: number } {
  const end = extent.last + 1;
  if (window.kind === "fixed") return { from: window.from, to: window.to };
  const from = window.kind === "last" ? Math.max(extent.first, end - window.n) : extent.first;
  return { from, to: end };
}

/** The finest columns of which there are at most so many. */
export function axisOf({ from, to }: { from: number; to: number }, most: number): Axis {
  let level = 0;
  while (level < MOST_LEVEL && columnsAt(from, to, level) > Math.max(most, 1)) level += 1;
  const width = 2 ** level;
  return { level, width, start: Math.floor(from / width) * width, columns: columnsAt(from, to, level) };
}

function columnsAt(from: number, to: number, level: number): number {
  const width = 2 ** level;
  return Math.floor((to - 1) / width) - Math.floor(from / width) + 1;
}

/** The column that holds a time; null outside. */
export function columnOf(axis: Axis, time: number): number | null {
  const column = Math.floor((time - axis.start) / axis.width);
  return column >= 0 && column < axis.columns ? column : null;
}

export function timeOf(axis: Axis, column: number): number {
  return axis.start + column * axis.width;
}

/** What a column stands for: `12`, or `8–15`. */
export function columnName(axis: Axis, column: number): string {
  const from = timeOf(axis, column);
  return axis.width === 1 ? grouped(from) : `${grouped(from)}\u2013${grouped(from + axis.width - 1)}`;
}

const LETTER = 6.3;
const APART = 12;

/** Where columns begin, below a picture so wide, and how many of these fit; empty where the end of one would be cut. */
export function columnLabels(axis: Axis, width: number, most: number): { readonly labels: readonly string[]; readonly most: number } {
  const cell = width / Math.max(axis.columns, 1);
  const names = Array.from({ length: axis.columns }, (_, column) => grouped(timeOf(axis, column)));
  const longest = Math.max(1, ...names.map((name) => name.length));
  const labels = names.map((name, column) => ((axis.columns - column) * cell < name.length * LETTER ? "" : name));
  return { labels, most: Math.max(1, Math.min(most, Math.floor(width / (longest * LETTER + APART)))) };
}

/** Half as much time, around the cursor or, following, at the end. */
export function zoomedIn(window: Window, extent: Extent, at: number | null): Window {
  const { from, to } = rangeOf(window, extent);
  const n = Math.max(Math.ceil((to - from) / 2), LEAST);
  if (n >= to - from) return window;
  if (at === null && window.kind !== "fixed") return { kind: "last", n };
  const middle = at ?? (from + to) / 2;
  const start = Math.round(Math.min(Math.max(middle - n / 2, from), to - n));
  return { kind: "fixed", from: start, to: start + n };
}

/** Twice as much time; all of it when that is less. */
export function zoomedOut(window: Window, extent: Extent): Window {
  const { from, to } = rangeOf(window, extent);
  const n = 2 * (to - from);
  if (window.kind === "all" || n >= extent.last + 1 - extent.first) return { kind: "all" };
  if (window.kind === "last") return { kind: "last", n };
  const start = Math.max(extent.first, Math.round((from + to - n) / 2));
  return { kind: "fixed", from: start, to: Math.min(start + n, extent.last + 1) };
}

/** The same length of time, moving on with the run. */
export function following(window: Window, extent: Extent): Window {
  if (window.kind !== "fixed") return window;
  const n = window.to - window.from;
  return n >= extent.last + 1 - extent.first ? { kind: "all" } : { kind: "last", n };
}

export function windowOfQuery(query: URLSearchParams): Window {
  const [last, from, to] = ["last", "from", "to"].map((name) => wholeOf(query.get(name)));
  if (from !== null && to !== null && from !== undefined && to !== undefined && from < to) {
    return { kind: "fixed", from, to };
  }
  return last === null || last === undefined || last < 1 ? { kind: "all" } : { kind: "last", n: last };
}

export function queryOfWindow(window: Window): Record<"last" | "from" | "to", string | null> {
  return {
    last: window.kind === "last" ? String(window.n) : null,
    from: window.kind === "fixed" ? String(window.from) : null,
    to: window.kind === "fixed" ? String(window.to) : null,
  };
}

function wholeOf(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
