/** The live state of one sweep, from its events: a pure reducer over batches of them. */

import type { Hook, Metric, SweepCell, SweepEvent, SweepStart, SweepSummary } from "../api/types";
import { MISSING_CELL, PENDING } from "../widgets/heatmap/ring";

export interface Axes {
  readonly layers: readonly number[];
  readonly positions: readonly number[];
  readonly hooks: readonly Hook[];
  readonly metric: Metric;
  /** The metric without a patch, in the colours' units; null where the server does not say it beforehand. */
  readonly baseline: number | null;
  /** Texts of the corrupt prompt's tokens, all of them. */
  readonly tokens: readonly string[];
}

export interface SweepView {
  readonly axes: Axes | null;
  /** By hook, row by row: layers down, positions along. Never changed in place. */
  readonly values: Readonly<Partial<Record<Hook, Float32Array>>>;
  readonly cells: number;
  readonly done: number;
  readonly summary: SweepSummary | null;
  readonly failure: string | null;
  /** Why single cells have no number, by `hook/layer/position`. */
  readonly reasons: Readonly<Record<string, string>>;
}

export const EMPTY_VIEW: SweepView = {
  axes: null,
  values: {},
  cells: 0,
  done: 0,
  summary: null,
  failure: null,
  reasons: {},
};

export function reduceSweep(view: SweepView, events: readonly SweepEvent[]): SweepView {
  const cells = events.filter((event) => event.type === "cell");
  const others = events.filter((event) => event.type !== "cell");
  const begun = others.reduce((so, event) => (event.type === "start" ? started(event) : so), view);
  const filled = cells.length > 0 ? withCells(begun, cells) : begun;
  return others.reduce(ended, filled);
}

function started(event: SweepStart): SweepView {
  const hooks = event.hooks ?? [event.hook];
  const size = event.layers.length * event.positions.length;
  return {
    ...EMPTY_VIEW,
    cells: event.cells,
    axes: {
      layers: event.layers,
      positions: event.positions,
      hooks,
      metric: event.metric,
      baseline: event.metric === "recovered" ? 0 : (event.corrupt ?? null),
      tokens: event.tokens.prompt,
    },
    values: Object.fromEntries(hooks.map((hook) => [hook, new Float32Array(size).fill(PENDING)])),
  };
}

function withCells(view: SweepView, cells: readonly SweepCell[]): SweepView {
  const { axes } = view;
  if (axes === null) return view;
  const rows = new Map(axes.layers.map((layer, row) => [layer, row]));
  const columns = new Map(axes.positions.map((position, column) => [position, column]));
  const values: Partial<Record<Hook, Float32Array>> = { ...view.values };
  const copied = new Set<Hook>();
  const reasons = { ...view.reasons };
  let done = view.done;
  for (const cell of cells) {
    if (!copied.has(cell.hook)) {
      const before = view.values[cell.hook];
      if (before) values[cell.hook] = before.slice();
      copied.add(cell.hook);
    }
    const grid = values[cell.hook];
    const row = rows.get(cell.layer);
    const column = columns.get(cell.position);
    if (grid === undefined || row === undefined || column === undefined) continue;
    const at = row * axes.positions.length + column;
    if (Number.isNaN(grid[at])) done += 1; // a voided cell comes a second time
    grid[at] = cell.value ?? MISSING_CELL;
    if (cell.error) reasons[siteKey(cell.hook, cell.layer, cell.position)] = cell.error;
  }
  return { ...view, values, done, reasons };
}

function ended(view: SweepView, event: SweepEvent): SweepView {
  if (event.type === "summary") return { ...view, summary: event };
  if (event.type === "error") return { ...view, failure: event.error };
  return view;
}

export function siteKey(hook: Hook, layer: number, position: number): string {
  return `${hook}/${layer}/${position}`;
}

/** Whether nothing more will come. */
export function isOver(view: SweepView): boolean {
  return view.summary !== null || view.failure !== null;
}
