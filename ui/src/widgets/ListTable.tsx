/** A table to read down: it scrolls in a box of its own, and its headings say what their numbers are. */

import type { ReactNode } from "react";
import "./list.css";

export interface Column {
  readonly name: string;
  /** What stands below, in a sentence: shown when somebody points at the heading. */
  readonly about?: string;
  /** Whether only those who cannot see the column need its name. */
  readonly unseen?: boolean;
}

export interface ListTableProps {
  /** What the table holds. */
  readonly label: string;
  readonly columns: readonly Column[];
  /** Whether many rows scroll, instead of making the page long. */
  readonly tall?: boolean;
  /** Rows, whose first cell names them. */
  readonly children: ReactNode;
}

export function ListTable({ label, columns, tall = false, children }: ListTableProps) {
  return (
    <div className={tall ? "scroll tall" : "scroll"} tabIndex={0} role="region" aria-label={`${label}, table`}>
      <table className="list">
        <thead>
          <tr>
            {columns.map(({ name, about, unseen = false }) => (
              <th key={name} scope="col" title={about}>
                <span className={unseen ? "unseen" : undefined}>{name}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
