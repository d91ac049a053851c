/** How far to trust a finished sweep, and what it is to be compared with. */

import type { SweepRecord, SweepSummary } from "../api/types";
import { number } from "../widgets/numbers";
import { visible } from "../widgets/tokens";
import { controlsText, noiseText, skippedLines, strongest, timingText } from "./wording";

interface SweepFactsProps {
  readonly summary: SweepSummary;
  readonly record: SweepRecord | null;
}

export function SweepFacts({ summary, record }: SweepFactsProps) {
  const passed = summary.controls.every((control) => control.passed);
  const skipped = skippedLines(summary);
  return (
    <>
      {summary.warnings.map((warning) => (
        <p key={warning} className="warning">
          {visible(warning)}
        </p>
      ))}
      <dl className="facts">
        <Extremes summary={summary} />
        <dt>Clean, corrupt</dt>
        <dd>
          {number(summary.clean)}, {number(summary.corrupt)}
          {summary.metric === "recovered" && <span className="muted"> log-probability</span>}
        </dd>
        <dt>Controls</dt>
        <dd>
          <span className={passed ? "passed" : "failed"}>{passed ? "passed" : "failed"}</span>{" "}
          {controlsText(summary.controls)}
          <div className="muted">
            Patches that must change nothing, computed like any other: alpha 0, and the corrupt prompt's own
            activations.
          </div>
        </dd>
        <dt>Noise floor</dt>
        <dd>
          {noiseText(summary.noise_floor)}
          <div className="muted">How far the baseline is from itself when it is run again among the patched rows.</div>
        </dd>
        <dt>Time</dt>
        <dd>{timingText(summary)}</dd>
        {skipped.length > 0 && (
          <>
            <dt>Left out</dt>
            <dd>
              {skipped.map((line) => (
                <div key={line}>{line}</div>
              ))}
            </dd>
          </>
        )}
        {record && (
          <>
            <dt>Model</dt>
            <dd>
              {visible(record.provenance.model)}, {record.provenance.dtype} on {record.provenance.device}, weights{" "}
              <code>{record.provenance.weights.slice(0, 12)}</code>
            </dd>
          </>
        )}
        {summary.captured_source_run !== null && record?.provenance.request.keep_source === true && (
          <>
            <dt>Source run</dt>
            <dd>
              kept as <code>{summary.captured_source_run}</code>
            </dd>
          </>
        )}
      </dl>
    </>
  );
}

/** The two sites that are marked in the pictures. */
function Extremes({ summary }: Pick<SweepFactsProps, "summary">) {
  const found = strongest(summary);
  if (found === null) return null;
  return (
    <>
      <dt>Largest</dt>
      <dd>{found.largest}</dd>
      <dt>Smallest</dt>
      <dd>{found.smallest}</dd>
    </>
  );
}
