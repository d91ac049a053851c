/** Which run is shown, and the way to another. */

import type { RunRow } from "../api/runs";
import { navigate } from "../app/location";
import { useCopy } from "../copy/copied";
import { useNow } from "../widgets/useNow";
import { isTraining, secondsLeft, statusText } from "../runs/status";
import { ago, count, duration, grouped, modelName } from "../widgets/numbers";
import { SaveRun } from "./SaveRun";

interface RunHeadProps {
  readonly run: RunRow;
  readonly runs: readonly RunRow[];
  readonly newest: number | null;
  /** How many there are in the files; null before it is known. */
  readonly records: number | null;
}

export function RunHead({ run, runs, newest, records }: RunHeadProps) {
  const copied = useCopy() !== null;
  const now = useNow() / 1000;
  const left = copied ? null : secondsLeft(run);
  const facts = [
    run.model === null ? null : modelName(run.model),
    run.status === null && !run.live ? null : statusText(run),
    newest === null ? null : `step ${grouped(newest)}${run.max_steps == null ? "" : ` of ${grouped(run.max_steps)}`}`,
    left === null ? null : `about ${duration(left)} left`,
    records === null ? null : count(records, "record"),
    run.last_checkpoint === null ? null : `checkpoint-${run.last_checkpoint}`,
    run.written === null || copied ? null : `written ${ago(now - run.written)}`,
  ].filter((fact) => fact !== null);
  return (
    <div className="run-head">
      <h1>
        {copied ? "Run" : "Live"} <span className="run-name">{run.run}</span>
      </h1>
      {runs.length > 1 && (
        <label>
          Run{" "}
          <select value={run.run} onChange={(event) => navigate(`/live/${encodeURIComponent(event.target.value)}`)}>
            {runs.map((each) => (
              <option key={each.run} value={each.run}>
                {each.run}
                {isTraining(each) ? " (training)" : ""}
              </option>
            ))}
          </select>
        </label>
      )}
      <span className="muted">{facts.join(" · ")}</span>
      {!copied && <SaveRun run={run.run} />}
    </div>
  );
}
