/** How uPlot draws numbers over time: means as lines, extremes as bands, spikes as rings. */

import uPlot from "uplot";
import { grouped, number } from "../../widgets/numbers";
import { DASHES, type PlotInks } from "./inks";

export interface LineSeries {
  readonly name: string;
  readonly mean: readonly (number | null)[];
  /** The band; a line without extremes has none. */
  readonly low?: readonly (number | null)[];
  readonly high?: readonly (number | null)[];
}

/** A moment worth a mark. */
export interface Flag {
  readonly x: number;
  readonly y: number;
}

export interface TimeOptions {
  readonly inks: PlotInks;
  readonly width: number;
  readonly height: number;
  readonly names: readonly string[];
  /** Whether numbers can be below 0, or have a natural end. */
  readonly range: readonly [number | null, number | null];
  readonly flags: () => readonly Flag[];
  readonly onTime: (time: number | null) => void;
  readonly onSelect: (from: number, to: number) => void;
}

export const GUTTER = 56;
/** The last number below a plot stands half beside it. */
const ROOM_FOR_HALF_A_NUMBER = 26;

/** Columns of uPlot: time, then mean, low and high of each line. */
export function timeData(x: readonly number[], series: readonly LineSeries[]): uPlot.AlignedData {
  const columns: (readonly (number | null)[])[] = [];
  for (const { mean, low, high } of series) columns.push(mean, low ?? [], high ?? []);
  const full = columns.map((column) => (column.length === x.length ? [...column] : x.map(() => null)));
  return [[...x], ...full];
}

export function timeOptions(options: TimeOptions): uPlot.Options {
  const { inks, names } = options;
  const axis = { stroke: inks.muted, font: "11px system-ui", grid: { stroke: inks.line, width: 1 }, ticks: { show: false } };
  return {
    width: options.width,
    height: options.height,
    padding: [8, ROOM_FOR_HALF_A_NUMBER, 0, 0],
    legend: { show: false },
    cursor: {
      points: { show: false },
      drag: { x: true, y: false, setScale: false },
      focus: { prox: 20 },
    },
    scales: { x: { time: false }, y: { range: (_plot, low, high) => yRange(low, high, options.range) } },
    axes: [
      { ...axis, size: 26, space: 60, values: (_plot, splits) => splits.map((at) => (Number.isInteger(at) ? grouped(at) : "")) },
      { ...axis, size: GUTTER, values: (_plot, splits) => splits.map(number) },
    ],
    series: [{}, ...names.flatMap((name, index) => lines(name, index, inks))],
    bands: names.map((_, index) => ({
      series: [3 * index + 3, 3 * index + 2] as [number, number],
      fill: `${inks.series[index % inks.series.length] ?? inks.accent}22`,
    })),
    hooks: {
      draw: [(plot) => drawFlags(plot, options.flags(), inks)],
      setCursor: [(plot) => tellTime(plot, options.onTime)],
      setSelect: [(plot) => tellSelect(plot, options.onSelect)],
    },
  };
}

function lines(name: string, index: number, inks: PlotInks): uPlot.Series[] {
  const stroke = inks.series[index % inks.series.length] ?? inks.accent;
  const dash = [...(DASHES[index % DASHES.length] ?? [])];
  const edge: uPlot.Series = { stroke: "transparent", width: 0, points: { show: false }, spanGaps: true };
  const points: uPlot.Series.Points = { size: 4, fill: stroke };
  return [{ label: name, stroke, width: 1.6, dash, spanGaps: true, points }, edge, edge];
}

function yRange(low: number | null, high: number | null, [least, most]: readonly [number | null, number | null]): [number, number] {
  if (low === null || high === null) return [least ?? 0, most ?? 1];
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  return [least ?? low - room, most === null ? high + room : Math.max(most, high)];
}

function tellTime(plot: uPlot, onTime: (time: number | null) => void): void {
  // uPlot also calls this when a cursor is set from outside: only the pointer's own is news
  if (!plot.cursor.event) return;
  const { left, idx } = plot.cursor;
  onTime(left === undefined || left < 0 || idx === null || idx === undefined ? null : (plot.data[0][idx] ?? null));
}

function tellSelect(plot: uPlot, onSelect: (from: number, to: number) => void): void {
  const { left, width } = plot.select;
  if (width < 4) return;
  const from = Math.round(plot.posToVal(left, "x"));
  const to = Math.round(plot.posToVal(left + width, "x"));
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  if (to > from) onSelect(from, to);
}

function drawFlags(plot: uPlot, flags: readonly Flag[], inks: PlotInks): void {
  const { ctx } = plot;
  ctx.save();
  ctx.strokeStyle = inks.caution;
  ctx.lineWidth = 2 * uPlot.pxRatio;
  for (const { x, y } of flags) {
    const left = plot.valToPos(x, "x", true);
    if (left < plot.bbox.left || left > plot.bbox.left + plot.bbox.width) continue;
    ctx.beginPath();
    ctx.arc(left, plot.valToPos(y, "y", true), 5 * uPlot.pxRatio, 0, 2 * Math.PI);
    ctx.stroke();
  }
  ctx.restore();
}
