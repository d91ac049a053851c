/** A table over features as bars, the random directions beside them: pure. */

import type { SweepTable } from "../api/types";
import type { FeatureRow } from "../live/test/testView";

type Found = Pick<SweepTable, "tables" | "metric" | "corrupt">;
type Table = SweepTable["tables"][number];

/** Whether a table is one over features alone. */
export function isOfFeatures({ tables }: Pick<SweepTable, "tables">): boolean {
  return tables.some((table) => isCells(table) && table.axes[0]?.name === "feature" && table.axes.length === 2);
}

export interface FeatureBars {
  /** In the table's order, which is that in which they were chosen. */
  readonly rows: readonly FeatureRow[];
  /** Random directions beside each. */
  readonly draws: number;
}

/** What changing each everywhere did, as a change from the unpatched prompt; undefined where that is not known yet. */
export function barsOf({ tables, metric, corrupt }: Found, finished: boolean): FeatureBars {
  const table = tables.find((each) => isCells(each) && each.axes[0]?.name === "feature");
  const beside = tables.find(({ kind }) => kind === "random_direction");
  const zero = metric === "recovered" ? 0 : (corrupt[metric] ?? null);
  const change = (value: number | null) => (value === null || zero === null ? null : value - zero);
  const axis = table?.axes[0];
  const draws = beside?.axes[1]?.values.length ?? 0;
  const rows = (axis?.values ?? []).map((value, row) => {
    const effect = change(rowOf(table, metric, row).at(-1) ?? null);
    const random = rowOf(beside, metric, row).map(change);
    return {
      feature: typeof value === "number" ? value : null,
      label: axis?.labels[row] ?? String(value),
      effect: effect === null && !finished ? undefined : effect,
      random: finished ? random : random.filter((each) => each !== null),
    };
  });
  return { rows, draws };
}

/** The largest effect first; rows that are no single feature last. */
export function byEffect(rows: readonly FeatureRow[]): FeatureRow[] {
  const rank = ({ feature, effect }: FeatureRow) => [feature === null ? 1 : 0, -Math.abs(effect ?? 0)] as const;
  return rows.toSorted((one, other) => {
    const [mine, theirs] = [rank(one), rank(other)];
    return mine[0] - theirs[0] || mine[1] - theirs[1];
  });
}

function rowOf(table: Table | undefined, metric: Found["metric"], row: number): (number | null)[] {
  const width = table?.axes[1]?.values.length ?? 0;
  return (table?.values[metric] ?? []).slice(row * width, (row + 1) * width);
}

function isCells({ kind }: Table): boolean {
  return (kind ?? "cells") === "cells";
}
