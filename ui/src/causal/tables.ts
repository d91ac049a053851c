/**
 * A table as its pictures show it, as in src/sonde/results/views.py: the last of several axes goes along the
 * columns, the others together make the rows.
 */

import type { SweepTable } from "../api/types";
import { MISSING_CELL, RingGrid } from "../widgets/heatmap/ring";
import { scaleOf, type Scale } from "../widgets/scale";
import { tokenLabel } from "../widgets/tokens";

type Table = SweepTable["tables"][number];
type Axis = Table["axes"][number];

export interface TablePanel {
  readonly hook: Table["hook"];
  /** What the rows count: `layer`, or `layer.head`. */
  readonly rows: string;
  readonly columns: string;
  readonly rowLabels: readonly string[];
  readonly columnLabels: readonly string[];
  readonly grid: RingGrid;
  /** What each row, and each column, stands for on its last axis. */
  readonly rowValues: readonly (number | string)[];
  readonly columnValues: readonly (number | string)[];
}

/** What of a table its panels show. */
export type Shown = Pick<SweepTable, "tables" | "metric" | "corrupt" | "noise_floor">;

/** The cells of every hook, in the main metric. */
export function panelsOf(found: Shown): TablePanel[] {
  return found.tables.filter((table) => (table.kind ?? "cells") === "cells").map((table) => panelOf(table, found.metric));
}

function panelOf({ hook, axes, values }: Table, metric: SweepTable["metric"]): TablePanel {
  const along = axes.length > 1 ? axes.slice(-1) : [];
  const up = axes.length > 1 ? axes.slice(0, -1) : axes;
  const rowLabels = labelsOf(up);
  const columnLabels = labelsOf(along);
  const numbers = values[metric] ?? [];
  const grid = RingGrid.from(
    rowLabels.length,
    columnLabels.length,
    (row, column) => numbers[row * columnLabels.length + column] ?? MISSING_CELL,
  );
  const rowValues = up.at(-1)?.values ?? [];
  const columnValues = along.at(-1)?.values ?? [];
  return { hook, rows: nameOf(up), columns: nameOf(along), rowLabels, columnLabels, grid, rowValues, columnValues };
}

function nameOf(axes: readonly Axis[]): string {
  return axes.map((axis) => axis.name).join(".");
}

/** One label a place; a side without axes is a single place without one. */
function labelsOf(axes: readonly Axis[]): string[] {
  return axes.reduce<string[]>(
    (so, axis) => {
      const own = axis.labels.map((label) => (axis.name === "position" ? tokenLabel(label) : label));
      return so.flatMap((before) => own.map((label) => (before === "" ? label : `${before}.${label}`)));
    },
    [""],
  );
}

/** One scale for all of them. */
export function tableScale(found: Shown, panels: readonly TablePanel[]): Scale {
  const baseline = found.metric === "recovered" ? 0 : (found.corrupt[found.metric] ?? null);
  return scaleOf(everyNumber(panels), baseline, found.noise_floor[found.metric] ?? 0);
}

function* everyNumber(panels: readonly TablePanel[]): Generator<number> {
  for (const { grid } of panels) {
    for (let row = 0; row < grid.rows; row++) {
      for (let column = 0; column < grid.length; column++) yield grid.get(row, column);
    }
  }
}

/** layer 23, head q3–5. */
export function placeIn(panel: TablePanel, row: number, column: number): string {
  const along = panel.columns === "" ? "" : `, ${panel.columns} ${panel.columnLabels[column] ?? ""}`;
  return `${panel.rows} ${panel.rowLabels[row] ?? ""}${along}`;
}
