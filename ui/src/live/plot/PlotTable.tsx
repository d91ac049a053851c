/** The numbers of a plot as a table: newest first, made when it is opened. */

import { useState } from "react";
import { number } from "../../widgets/numbers";
import type { LineSeries } from "./timeOptions";

interface PlotTableProps {
  readonly caption: string;
  readonly unit: string;
  readonly x: readonly number[];
  readonly series: readonly LineSeries[];
}

const MOST = 200;

export function PlotTable({ caption, unit, x, series }: PlotTableProps) {
  const [open, setOpen] = useState(false);
  return (
    <details className="table-twin" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{caption} as a table</summary>
      {open && (
        <div className="scroll" tabIndex={0} role="region" aria-label={`${caption}, table`}>
          <table>
            <caption className="unseen">{caption}</caption>
            <thead>
              <tr>
                <th scope="col">{unit}</th>
                {series.map(({ name }) => (
                  <th scope="col" key={name}>
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {x
                .map((at, index) => ({ at, index }))
                .slice(-MOST)
                .reverse()
                .map(({ at, index }) => (
                  <tr key={at}>
                    <th scope="row">{at}</th>
                    {series.map(({ name, mean }) => (
                      <td key={name}>{number(mean[index])}</td>
                    ))}
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}
