/** What it would cost, what speaks against it, and the button that starts it. */

import type { Estimate } from "../api/types";
import type { Resource } from "../api/useResource";
import { ErrorNote } from "../widgets/ErrorNote";
import type { Asking } from "./useStart";
import { costText } from "./wording";

interface StartBarProps {
  /** What is still missing. */
  readonly problem: string | null;
  /** What makes it senseless. */
  readonly doubts: readonly string[];
  readonly estimate: Resource<Estimate>;
  /** Whether cells are scored, and few of them run. */
  readonly scored: boolean;
  /** Whether the form already says what is wrong, so that the server's word for it would be a second one. */
  readonly saidAbove: boolean;
  readonly asking: Asking;
  readonly failure: Error | null;
  readonly connected: boolean;
}

const BUTTON: Record<Asking, string> = {
  no: "Start sweep",
  checking: "Checking…",
  asked: "Start anyway",
  starting: "Starting…",
};

export function StartBar({ problem, doubts, estimate, scored, saidAbove, asking, failure, connected }: StartBarProps) {
  const cost = problem ?? (estimate.data ? costText(estimate.data, scored) : estimate.loading ? "estimating…" : "");
  return (
    <div className="start-bar">
      <button
        type="submit"
        className="primary"
        title="Ctrl+Enter"
        disabled={problem !== null || asking === "checking" || asking === "starting" || !connected}
      >
        {BUTTON[asking]}
      </button>
      <span className="estimate" role="status">
        {asking === "asked" ? "It would show nothing of what you ask. Press again to run it all the same." : cost}
      </span>
      {problem === null && doubts.length > 0 && (
        <ul className="doubts" data-asking={asking === "asked"} aria-label="What speaks against it">
          {doubts.map((doubt) => (
            <li key={doubt}>{doubt}</li>
          ))}
        </ul>
      )}
      {failure ? (
        <ErrorNote error={failure} />
      ) : (
        !problem && !saidAbove && estimate.error && <ErrorNote error={estimate.error} onRetry={estimate.reload} />
      )}
    </div>
  );
}
