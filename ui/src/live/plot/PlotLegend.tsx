/** Which line is which, and what each says at the cursor, or last. */

import { number } from "../../widgets/numbers";
import { DASHES, SERIES_INKS } from "./inks";

export interface LegendEntry {
  readonly name: string;
  readonly value: number | null;
  readonly low: number | null;
  readonly high: number | null;
}

interface PlotLegendProps {
  readonly entries: readonly LegendEntry[];
  readonly moment: string;
  /** Whether somebody points at a moment, so that it should be spoken. */
  readonly live: boolean;
}

export function PlotLegend({ entries, moment, live }: PlotLegendProps) {
  return (
    <div className="plot-legend" aria-live={live ? "polite" : "off"}>
      <span className="plot-moment">{moment}</span>
      {entries.map(({ name, value, low, high }, index) => (
        <span key={name} className="plot-entry">
          <svg width="22" height="8" aria-hidden="true">
            <line
              x1="0"
              x2="22"
              y1="4"
              y2="4"
              strokeWidth="2"
              stroke={`var(--series-${index % SERIES_INKS})`}
              strokeDasharray={DASHES[index % DASHES.length]?.join(" ")}
            />
          </svg>
          {name} <b>{number(value)}</b>
          {low !== null && high !== null && low !== high && (
            <span className="muted">
              {number(low)} to {number(high)}
            </span>
          )}
        </span>
      ))}
    </div>
  );
}
