/**
 * A heatmap's numbers from two tellings of the same run: the server's tile, which knows the whole
 * run and is a few seconds old, and the stream, which knows the newest. Each is right about what it
 * has seen, so for every cell the one that saw more records is believed.
 */

import { MISSING_CELL, PENDING, RingGrid } from "../../widgets/heatmap/ring";
import { scaleOf } from "../../widgets/scale";
import type { Tile } from "../../api/analytics";
import { addCell, emptyCell, recordsOf, statOf, type Cell, type Measure, type Stat } from "../stream/cells";
import type { RunData } from "../stream/data";
import type { Timeline } from "../stream/timeline";
import { columnOf, type Axis } from "./window";

export const HEIGHTS = ["high", "mean"] as const;
export type Height = (typeof HEIGHTS)[number];

export interface Seen {
  readonly records: number;
  readonly stat: Stat | null;
}

const NOTHING: Seen = { records: 0, stat: null };

export interface HeatView {
  readonly axis: Axis;
  /** Layers, or features: first row first. */
  readonly rows: readonly number[];
  readonly grid: RingGrid;
  readonly at: (row: number, column: number) => Seen;
}

type Folded = ReadonlyMap<number, ReadonlyMap<number, Cell>>;

/** What the stream saw, in columns that may be wider than its own: layer, then column, then cell. */
function foldLive(timeline: Timeline, axis: Axis): Folded {
  const folded = new Map<number, Map<number, Cell>>();
  const own = 2 ** timeline.level;
  if (own > axis.width) return folded;
  for (const each of timeline.columns()) {
    const column = columnOf(axis, each * own);
    if (column === null) continue;
    for (const [layer, cell] of timeline.layersAt(each) ?? []) {
      const cells = folded.get(layer) ?? new Map<number, Cell>();
      folded.set(layer, cells);
      const sum = cells.get(column) ?? emptyCell();
      cells.set(column, sum);
      addCell(sum, cell);
    }
  }
  return folded;
}

function seenLive(folded: Folded, layer: number, column: number, measure: Measure): Seen {
  const cell = folded.get(layer)?.get(column);
  return cell ? { records: recordsOf(cell), stat: statOf(cell, measure) } : NOTHING;
}

/** What a tile saw of a column that may be wider than its own. */
function seenInTile(tile: Tile, axis: Axis, column: number, row: number): Seen {
  if (row < 0 || tile.width > axis.width) return NOTHING;
  const from = axis.start + column * axis.width;
  const first = Math.max((from - tile.start) / tile.width, 0);
  const end = Math.min((from + axis.width - tile.start) / tile.width, tile.columns);
  let [records, count, sum, low, high] = [0, 0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let each = first; each < end; each++) {
    records += (tile.records[row] ?? tile.records[0])?.[each] ?? 0;
    const n = tile.count[row]?.[each] ?? 0;
    if (n === 0) continue;
    count += n;
    sum += n * (tile.mean[row]?.[each] ?? 0);
    low = Math.min(low, tile.low[row]?.[each] ?? low);
    high = Math.max(high, tile.high[row]?.[each] ?? high);
  }
  return { records, stat: count === 0 ? null : { count, mean: sum / count, low, high } };
}

const NO_CELLS: Folded = new Map();
const NO_HIGHS: Highs = new Map();

/** Layers over time. */
export function layerView(
  tile: Tile | null,
  data: RunData,
  unit: "step" | "token",
  axis: Axis,
  measure: Measure,
  height: Height,
): HeatView {
  const timeline = unit === "step" ? data.steps : data.tokens;
  const told = tile?.axis === "layer" && tile.measure === measure && tile.unit === unit ? tile : null;
  const folded = foldLive(timeline, axis);
  const rows = [...new Set([...(told?.rows ?? []), ...folded.keys()])].sort((one, other) => one - other);
  const at = (row: number, column: number): Seen => {
    const layer = rows[row] ?? -1;
    const live = seenLive(folded, layer, column, measure);
    const known = told ? seenInTile(told, axis, column, told.rows.indexOf(layer)) : NOTHING;
    return live.records > known.records ? live : known;
  };
  return viewOf(axis, rows, at, height, MISSING_CELL);
}

/** Features of one layer over time: the highest activation of each. The stream knows them by step. */
export function featureView(
  tile: Tile | null,
  data: RunData,
  unit: "step" | "token",
  layer: number,
  axis: Axis,
  most: number,
): HeatView {
  const told = tile?.axis === "feature" && tile.layer === layer && tile.unit === unit ? tile : null;
  const folded = unit === "step" ? foldLive(data.steps, axis) : NO_CELLS;
  const highs = unit === "step" ? foldTops(data, layer, axis) : NO_HIGHS;
  const rows = (told ? told.rows : strongest(highs)).slice(0, most).reverse();
  const at = (row: number, column: number): Seen => {
    const feature = rows[row] ?? -1;
    const live = seenLive(folded, layer, column, "activation");
    const known = told ? seenInTile(told, axis, column, told.rows.indexOf(feature)) : NOTHING;
    if (live.records <= known.records) return known;
    const high = highs.get(feature)?.get(column);
    return { records: live.records, stat: high === undefined ? null : { count: 1, mean: high, low: high, high } };
  };
  return viewOf(axis, rows, at, "high", PENDING);
}

type Highs = ReadonlyMap<number, ReadonlyMap<number, number>>;

/** The highest activation of each feature in each column, as far as the stream told. */
function foldTops(data: RunData, layer: number, axis: Axis): Highs {
  const highs = new Map<number, Map<number, number>>();
  for (const { step, features, highs: values } of data.tops.of(layer)) {
    const column = columnOf(axis, step);
    if (column === null) continue;
    features.forEach((feature, index) => {
      const columns = highs.get(feature) ?? new Map<number, number>();
      highs.set(feature, columns);
      columns.set(column, Math.max(columns.get(column) ?? Number.NEGATIVE_INFINITY, values[index] ?? 0));
    });
  }
  return highs;
}

/** Features by their highest activations, added up over the columns that are shown. */
function strongest(highs: Highs): number[] {
  const sums = [...highs].map(([feature, columns]) => ({ feature, sum: sumOf(columns.values()) }));
  return sums.sort((one, other) => other.sum - one.sum).map(({ feature }) => feature);
}

function sumOf(values: Iterable<number>): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}

/** `without` stands for a cell that has records but no value. */
function viewOf(axis: Axis, rows: readonly number[], at: HeatView["at"], height: Height, without: number): HeatView {
  const grid = RingGrid.whole(rows.length, axis.columns);
  for (let row = 0; row < rows.length; row++) {
    for (let column = 0; column < axis.columns; column++) {
      const { records, stat } = at(row, column);
      grid.set(row, column, stat ? stat[height] : records > 0 ? without : PENDING);
    }
  }
  return { axis, rows, grid, at };
}

/** The same cells as shares of their row: 0 is its least, 1 its greatest. What has no number keeps none. */
export function sharesOfRows(grid: RingGrid): RingGrid {
  const rows = Array.from({ length: grid.rows }, (_, row) => {
    const values = Array.from({ length: grid.length }, (_each, column) => grid.get(row, column));
    const { low, high } = scaleOf(values, null);
    return { values, low, reach: high - low || 1 };
  });
  return RingGrid.from(grid.rows, grid.length, (row, column) => {
    const { values = [], low = 0, reach = 1 } = rows[row] ?? {};
    const value = values[column] ?? PENDING;
    return Number.isFinite(value) ? (value - low) / reach : value;
  });
}
