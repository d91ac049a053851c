/** How far to trust a finished sweep, and what it is to be compared with. */

import type { Control, SweepRecord, SweepSummary, SweepTable } from "../api/types";
import { number } from "../widgets/numbers";
import { visible } from "../widgets/tokens";
import { controlsText, noiseText, skippedLines, strongest, tableTimeText, timingText } from "./wording";

interface SweepFactsProps {
  readonly summary: SweepSummary;
  readonly record: SweepRecord | null;
}

export function SweepFacts({ summary, record }: SweepFactsProps) {
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
        <Trusted controls={summary.controls} noise={summary.noise_floor} />
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
        {record && <Model record={record} />}
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

/** The same of a table; of many pairs, or checkpoints, controls of all of them and the largest noise floor. */
export function TableFacts({ found, record }: { readonly found: SweepTable; readonly record: SweepRecord }) {
  const { metric, clean, corrupt, noise_floor: noise, controls } = found;
  return (
    <dl className="facts">
      {!found.checkpoints && !found.reward && (
        <>
          <dt>Clean, corrupt</dt>
          <dd>
            {number(clean?.[metric])}, {number(corrupt[metric])}
            {metric === "recovered" && <span className="muted"> {found.recovered_of === "logit_diff" ? "logit difference" : "log-probability"}</span>}
          </dd>
        </>
      )}
      {!found.reward && <Trusted controls={controls} noise={noise[metric] ?? null} />}
      <dt>Time</dt>
      <dd>{tableTimeText(found)}</dd>
      <Model record={record} />
    </dl>
  );
}

/** Whether what must change nothing changed nothing, and how far small differences can be trusted. */
function Trusted({ controls, noise }: { readonly controls: readonly Control[]; readonly noise: number | null }) {
  const passed = controls.every((control) => control.passed);
  return (
    <>
      <dt>Controls</dt>
      <dd>
        {controls.length > 0 && <span className={passed ? "passed" : "failed"}>{passed ? "passed" : "failed"}</span>}{" "}
        {controlsText(controls)}
        <div className="muted">
          Patches that must change nothing, computed like any other: alpha 0, and the corrupt prompt's own
          activations.
        </div>
      </dd>
      <dt>Noise floor</dt>
      <dd>
        {noiseText(noise)}
        <div className="muted">How far the baseline is from itself when it is run again among the patched rows.</div>
      </dd>
    </>
  );
}

function Model({ record }: { readonly record: SweepRecord }) {
  const { model, dtype, device, weights } = record.provenance;
  return (
    <>
      <dt>Model</dt>
      <dd>
        {visible(model)}, {dtype} on {device}, weights <code>{weights.slice(0, 12)}</code>
      </dd>
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
