/** What it would cost, and the button that starts it. */

import type { Estimate } from "../api/types";
import type { Resource } from "../api/useResource";
import { ErrorNote } from "../widgets/ErrorNote";
import { costText } from "./wording";

interface StartBarProps {
  /** What is still missing. */
  readonly problem: string | null;
  readonly estimate: Resource<Estimate>;
  /** Whether the form already says what is wrong, so that the server's word for it would be a second one. */
  readonly saidAbove: boolean;
  readonly starting: boolean;
  readonly failure: Error | null;
  readonly connected: boolean;
}

export function StartBar({ problem, estimate, saidAbove, starting, failure, connected }: StartBarProps) {
  return (
    <div className="start-bar">
      <button type="submit" className="primary" disabled={problem !== null || starting || !connected}>
        {starting ? "Starting…" : "Start sweep"}
      </button>
      <span className="estimate" role="status">
        {problem ?? (estimate.data ? costText(estimate.data) : estimate.loading ? "estimating…" : "")}
      </span>
      {failure ? (
        <ErrorNote error={failure} />
      ) : (
        !problem && !saidAbove && estimate.error && <ErrorNote error={estimate.error} onRetry={estimate.reload} />
      )}
    </div>
  );
}
