/** The words around a heatmap: rows at the left, columns below. */

import { labelStep } from "./paint";

const MOST_ROWS = 16;
/** Rows of this height have room for a name each: what is skipped of names cannot be guessed, as a number's neighbour can. */
const ROOM = 12;

interface RowLabelsProps {
  readonly labels: readonly string[];
  readonly height: number;
  /** Row of the grid that the cursor is in. */
  readonly active: number | null;
}

export function RowLabels({ labels, height, active }: RowLabelsProps) {
  const named = labels.some((label) => !/^\d+$/.test(label));
  const step = named && height >= ROOM ? 1 : labelStep(labels.length, MOST_ROWS);
  return (
    <div className="heatmap-rows" aria-hidden="true">
      {labels.map((label, row) => (
        <span
          key={row}
          style={{ height, lineHeight: `${height}px` }}
          className={row === active ? "on" : row % step === 0 ? "" : "quiet"}
        >
          {label}
        </span>
      ))}
    </div>
  );
}

interface ColumnLabelsProps {
  readonly labels: readonly string[];
  readonly width: number;
  readonly active: number | null;
  readonly most: number;
}

export function ColumnLabels({ labels, width, active, most }: ColumnLabelsProps) {
  const step = labelStep(labels.length, most);
  return (
    <div className="heatmap-columns" aria-hidden="true">
      {labels.map((label, column) => (
        <span key={column} style={{ width }} className={column === active ? "on" : column % step === 0 ? "" : "quiet"}>
          <bdi>{label}</bdi>
        </span>
      ))}
    </div>
  );
}
