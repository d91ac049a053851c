/** The same numbers as a table: what a screen reader reads, and what can be copied. */

import { useState } from "react";
import { textOf, type Scale } from "../scale";
import type { RingGrid } from "./ring";

export interface HeatmapTableProps {
  readonly caption: string;
  readonly corner: string;
  readonly grid: RingGrid;
  readonly version: number;
  readonly scale: Scale;
  readonly rowLabels: readonly string[];
  readonly columnLabels: readonly string[];
}

/** Closed, it is one line; its rows are made when it is opened. */
export function HeatmapTable(props: HeatmapTableProps) {
  const [open, setOpen] = useState(false);
  return (
    <details className="table-twin" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{props.caption} as a table</summary>
      {open && (
        <div className="scroll" tabIndex={0} role="region" aria-label={`${props.caption}, table`}>
          <Table {...props} />
        </div>
      )}
    </details>
  );
}

function Table({ caption, corner, grid, scale, rowLabels, columnLabels }: HeatmapTableProps) {
  const downwards = rowLabels.map((_, row) => rowLabels.length - 1 - row);
  return (
    <table>
      <caption className="unseen">{caption}</caption>
      <thead>
        <tr>
          <th scope="col">{corner}</th>
          {columnLabels.map((label, column) => (
            <th scope="col" key={column}>
              <bdi>{label}</bdi>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {downwards.map((row) => (
          <tr key={row}>
            <th scope="row">{rowLabels[row]}</th>
            {columnLabels.map((_, column) => (
              <td key={column}>{cellText(grid.get(row, column), scale)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A number, or why there is none. */
export function cellText(value: number, scale: Scale): string {
  if (Number.isNaN(value)) return "not yet";
  return Number.isFinite(value) ? textOf(scale, value) : "no number";
}
