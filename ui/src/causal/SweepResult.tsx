/** One sweep: running, finished, or ended otherwise. */

import { useState } from "react";
import { asError } from "../api/errors";
import { cancelSweep } from "../api/sweeps";
import type { SweepState } from "../api/types";
import type { Theme } from "../widgets/colors";
import { EmptyState } from "../widgets/EmptyState";
import { ErrorNote } from "../widgets/ErrorNote";
import { count, grouped } from "../widgets/numbers";
import { useNow } from "../widgets/useNow";
import { ExportMenu } from "./ExportMenu";
import { HeatmapPanels } from "./HeatmapPanels";
import { leftText, secondsLeft } from "./pace";
import { SweepFacts } from "./SweepFacts";
import { isOver, siteKey } from "./sweepView";
import type { Sweep } from "./useSweep";
import { askedTokens, COLOR_MEANING, metricLabel, sourceText } from "./wording";

interface SweepResultProps {
  readonly id: string;
  readonly sweep: Sweep;
  readonly theme: Theme;
  /** Null where it cannot be asked for again from here. */
  readonly onAgain: (() => void) | null;
}

export function SweepResult({ id, sweep, theme, onAgain }: SweepResultProps) {
  const { view, record } = sweep;
  const { axes, summary } = view;
  const asked = record ? askedTokens(record) : { answer: "", foil: "" };
  const metric = axes?.metric ?? "logprob";
  const label = record ? metricLabel(metric, asked.answer, asked.foil) : `sweep ${id}`;
  const baseline = axes?.baseline ?? (metric === "recovered" ? 0 : (summary?.corrupt ?? null));
  return (
    <section className="result" aria-label="Sweep">
      <header className="result-head">
        <div>
          <h1>{label.charAt(0).toUpperCase() + label.slice(1)}</h1>
          {axes && (
            <p className="muted">
              {count(axes.hooks.length, "hook")} × {count(axes.layers.length, "layer")} ×{" "}
              {count(axes.positions.length, "position")}. {COLOR_MEANING[metric]}
            </p>
          )}
        </div>
        <Progress id={id} sweep={sweep} />
      </header>
      {sweep.error && <ErrorNote error={sweep.error} />}
      <Ending sweep={sweep} onAgain={onAgain} />
      {axes ? (
        <HeatmapPanels
          axes={axes}
          values={view.values}
          baseline={baseline}
          noise={summary?.noise_floor ?? 0}
          theme={theme}
          sourceOf={(position) => (summary ? sourceText(summary, position) : "")}
          reasonOf={(hook, layer, position) => view.reasons[siteKey(hook, layer, position)] ?? ""}
        />
      ) : (
        !sweep.error && sweep.stream !== "ended" && <EmptyState title="Waiting for the first cell" />
      )}
      {summary && <SweepFacts summary={summary} record={record} />}
      {summary && record && record.state === "finished" && <ExportMenu record={record} />}
    </section>
  );
}

function Progress({ id, sweep }: { readonly id: string; readonly sweep: Sweep }) {
  const [stopping, setStopping] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  const { view, stream } = sweep;
  const now = useNow(1_000);
  if (isOver(view) || stream === "ended") return null;
  const stop = async () => {
    setStopping(true);
    try {
      await cancelSweep(id);
    } catch (error) {
      setFailure(asError(error));
    }
    setStopping(false);
  };
  return (
    <div className="progress">
      <progress max={Math.max(view.cells, 1)} value={view.done} aria-label="Cells computed" />
      <span role="status">
        {stream === "disconnected"
          ? "connection lost, trying again"
          : view.cells > 0
            ? `${grouped(view.done)} of ${count(view.cells, "cell")}`
            : "waiting"}
      </span>
      <TimeLeft seconds={stream === "disconnected" ? null : secondsLeft(sweep.pace, view.cells, now)} />
      <button type="button" disabled={stopping} onClick={() => void stop()}>
        Stop
      </button>
      {failure && <ErrorNote error={failure} />}
    </div>
  );
}

/** Not spoken: it changes every second. */
function TimeLeft({ seconds }: { readonly seconds: number | null }) {
  return <span className="muted">{seconds === null ? "" : leftText(seconds)}</span>;
}

const ENDINGS: Partial<Record<SweepState, string>> = {
  cancelled: "This sweep was stopped. The cells that were ready are shown.",
  interrupted: "The server ended while this sweep ran, so it has no result.",
};

/** What became of a sweep that did not finish. */
function Ending({ sweep, onAgain }: Pick<SweepResultProps, "sweep" | "onAgain">) {
  const { record, view, stream } = sweep;
  if (stream !== "ended" || view.summary !== null || record === null || record.state === "finished") return null;
  const text = ENDINGS[record.state] ?? `This sweep failed: ${view.failure ?? record.error ?? "no reason was given"}`;
  return (
    <ErrorNote error={text}>
      {onAgain && (
        <button type="button" onClick={onAgain}>
          Run it again
        </button>
      )}
    </ErrorNote>
  );
}
