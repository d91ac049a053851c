/**
 * A heatmap on a canvas: last row on top, one cursor for pointer and keys, and a read-out that is
 * spoken. It draws what it is given and keeps nothing; several can share a scale and a cursor.
 */

import { useEffect, useId, useMemo, useRef, type KeyboardEvent, type PointerEvent } from "react";
import { type Theme } from "../colors";
import { type Scale } from "../scale";
import { Bitmap } from "./bitmap";
import { moved, samePlace, type Place } from "./cursor";
import { ColumnLabels, RowLabels } from "./Labels";
import { annotate, cellSize, drawCursor, drawMark, rule, type Doubtful, type Geometry, type Inks, type Mark } from "./paint";
import type { RingGrid } from "./ring";
import "./heatmap.css";

export interface HeatmapProps {
  readonly label: string;
  readonly grid: RingGrid;
  /** `grid.version` at this rendering: the grid itself is changed in place. */
  readonly version: number;
  readonly scale: Scale;
  readonly theme: Theme;
  /** Of the grid's rows, first row first, although the last is drawn on top. */
  readonly rowLabels: readonly string[];
  readonly columnLabels: readonly string[];
  /** What the numbers at the side, or those below, count: it stands in the corner between them. */
  readonly corner: string;
  readonly marks?: readonly Mark[];
  /** In the picture: row 0 is the top. */
  readonly cursor: Place | null;
  readonly onCursor: (place: Place | null) => void;
  /** A click on a cell, or Enter: there is more to see of it. */
  readonly onOpen?: ((place: Place) => void) | undefined;
  /** Cells to hatch besides those within the noise floor. */
  readonly doubtful?: Doubtful | undefined;
  /** What is at the cursor, in a sentence. */
  readonly readOut: string;
  /** Width and height of a cell in CSS pixels; by default as on Sonde's pages. */
  readonly cell?: { readonly width: number; readonly height: number };
  /** Fewer labels than this are never thinned out. */
  readonly mostColumnLabels?: number;
}

export function Heatmap(props: HeatmapProps) {
  const { grid, version, scale, theme, marks, cursor, onCursor, onOpen, doubtful } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const hint = useId();
  const bitmap = useMemo(() => new Bitmap(grid), [grid]);
  const size = props.cell ?? cellSize(grid.rows, grid.length);
  const rows = grid.rows;
  const columns = grid.length;
  const { width, height } = size;

  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const at: Geometry = { rows, columns, cellWidth: width, cellHeight: height };
      if (canvas.current) drawAll(canvas.current, bitmap, grid, { scale, theme, marks, cursor, doubtful }, at);
    });
    return () => cancelAnimationFrame(frame);
  }, [bitmap, grid, version, scale, theme, marks, cursor, doubtful, rows, columns, width, height]);

  const placeOf = (event: PointerEvent): Place => {
    const box = event.currentTarget.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top) / height);
    const column = Math.floor((event.clientX - box.left) / width);
    return { row: clamp(row, rows), column: clamp(column, columns) };
  };
  const onPointer = (event: PointerEvent) => {
    const place = placeOf(event);
    if (!samePlace(place, cursor)) onCursor(place);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && onOpen && cursor && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      onOpen(cursor);
      return;
    }
    const to = keyed(event.key, cursor, marks, rows, columns);
    if (to === undefined) return;
    event.preventDefault();
    onCursor(to);
  };

  return (
    <div
      className="heatmap"
      role="application"
      aria-roledescription="heatmap"
      aria-label={props.label}
      aria-describedby={hint}
      tabIndex={0}
      onKeyDown={onKey}
      onFocus={() => cursor === null && columns > 0 && onCursor(marks?.[0] ?? { row: 0, column: 0 })}
      onBlur={() => onCursor(null)}
    >
      <RowLabels labels={props.rowLabels} height={height} active={cursor && rows - 1 - cursor.row} />
      <canvas
        ref={canvas}
        aria-hidden="true"
        style={{ width: columns * width, height: rows * height }}
        onPointerMove={onPointer}
        onPointerDown={onPointer}
        onPointerLeave={() => onCursor(null)}
        onClick={onOpen && (() => cursor && onOpen(cursor))}
      />
      <span className="heatmap-corner" aria-hidden="true">
        {props.corner}
      </span>
      <ColumnLabels
        labels={props.columnLabels}
        width={width}
        active={cursor?.column ?? null}
        most={props.mostColumnLabels ?? 200}
      />
      <span id={hint} className="unseen">
        Arrow keys read the cells; M goes to the largest value, N to the smallest, Escape leaves.
        {onOpen && " Enter opens the cell."}
      </span>
      <span className="unseen" role="status" aria-live="polite">
        {cursor ? props.readOut : ""}
      </span>
    </div>
  );
}

/** Where a key leads: a place, null for nowhere, undefined when it means nothing here. */
function keyed(
  key: string,
  cursor: Place | null,
  marks: readonly Mark[] | undefined,
  rows: number,
  columns: number,
): Place | null | undefined {
  if (key === "Escape") return null;
  const wanted = { m: "max", n: "min" }[key.toLowerCase()];
  if (wanted) return marks?.find((mark) => mark.kind === wanted) ?? cursor;
  return moved(key, cursor ?? { row: 0, column: 0 }, rows, columns) ?? undefined;
}

interface Overlay {
  readonly scale: Scale;
  readonly theme: Theme;
  readonly marks: readonly Mark[] | undefined;
  readonly cursor: Place | null;
  readonly doubtful: Doubtful | undefined;
}

function drawAll(
  canvas: HTMLCanvasElement,
  bitmap: Bitmap,
  grid: RingGrid,
  { scale, theme, marks, cursor, doubtful }: Overlay,
  at: Geometry,
): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const density = window.devicePixelRatio;
  const width = at.columns * at.cellWidth;
  const height = at.rows * at.cellHeight;
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(height * density);
  context.setTransform(density, 0, 0, density, 0, 0);
  const inks = inksOf(canvas);
  context.fillStyle = inks.empty;
  context.fillRect(0, 0, width, height);
  bitmap.update(scale, theme);
  bitmap.draw(context, width, height);
  rule(context, at, inks);
  annotate(context, grid, scale, at, inks, doubtful);
  for (const mark of marks ?? []) drawMark(context, mark, at, inks);
  if (cursor) drawCursor(context, cursor, at, inks);
}

function inksOf(element: Element): Inks {
  const style = getComputedStyle(element);
  const ink = (name: string) => style.getPropertyValue(name).trim();
  return {
    surface: ink("--surface"),
    ink: ink("--ink"),
    muted: ink("--muted"),
    hatch: ink("--hatch"),
    accent: ink("--accent"),
    empty: ink("--empty"),
  };
}

function clamp(value: number, length: number): number {
  return Math.min(Math.max(value, 0), Math.max(length - 1, 0));
}
