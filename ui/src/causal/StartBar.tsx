/** What it would cost, and the button that starts it. */

import type { Estimate } from "../api/types";
import type { Resource } from "../api/useResource";
import { ErrorNote } from "../widgets/ErrorNote";
import { count, duration, size } from "../widgets/numbers";

interface StartBarProps {
  /** What is still missing. */
  readonly problem: string | null;
  readonly estimate: Resource<Estimate>;
  readonly starting: boolean;
  readonly failure: Error | null;
  readonly connected: boolean;
}

export function StartBar({ problem, estimate, starting, failure, connected }: StartBarProps) {
  return (
    <div className="start-bar">
      <button type="submit" className="primary" disabled={problem !== null || starting || !connected}>
        {starting ? "Starting…" : "Start sweep"}
      </button>
      <span className="estimate" role="status">
        {problem ?? (estimate.data ? costText(estimate.data) : estimate.error ? "" : "estimating…")}
      </span>
      {failure ? (
        <ErrorNote error={failure} />
      ) : (
        !problem && estimate.error && <ErrorNote error={estimate.error} onRetry={estimate.reload} />
      )}
    </div>
  );
}

/** 810 cells, about 2.10 s, 14.0 MiB. */
export function costText({ cells, computed_cells: computed, seconds, working_bytes, source_bytes }: Estimate): string {
  const known = cells - computed;
  const saved = known > 0 ? ` (${known} known without work)` : "";
  return `${count(cells, "cell")}${saved}, about ${duration(seconds)}, ${size(working_bytes + source_bytes)}`;
}
