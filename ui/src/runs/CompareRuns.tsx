/** Several runs over one another. Loaded when it is wanted: it draws. */

import { useMemo } from "react";
import * as analytics from "../api/analytics";
import { useResource } from "../api/useResource";
import { currentAddress, navigate, queryOf, useAddress, withQuery } from "../app/location";
import { TimePlot } from "../live/plot/TimePlot";
import type { Theme } from "../widgets/colors";
import { ErrorNote } from "../widgets/ErrorNote";
import { MEASURES, overlaid, seriesOf, type Measured } from "./compare";


interface CompareRunsProps {
  readonly runs: readonly string[];
  readonly theme: Theme;
}

const EVERY_MS = 6_000;
const COLUMNS = { columns: 256 };

export default function CompareRuns({ runs, theme }: CompareRunsProps) {
  const wanted = queryOf(useAddress()).get("show");
  const shown = MEASURES.find(({ name }) => name === wanted) ?? MEASURES[0];
  const asked = useResource(shown ? `${shown.name} ${runs.join()}` : null, (signal) => ask(runs, shown, signal), {
    every: EVERY_MS,
  });
  const view = useMemo(() => overlaid(asked.data ?? []), [asked.data]);
  if (!shown) return null;
  return (
    <section className="live-panel wide" aria-labelledby="compare-title">
      <div className="panel-head">
        <h2 id="compare-title">Runs over one another</h2>
        <label>
          Show{" "}
          <select
            value={shown.name}
            onChange={({ target }) => navigate(withQuery(currentAddress(), { show: target.value }), { replace: true })}
          >
            {MEASURES.map(({ name, text }) => (
              <option key={name} value={name}>
                {text}
              </option>
            ))}
          </select>
        </label>
      </div>
      {asked.error && <ErrorNote error={asked.error} onRetry={asked.reload} />}
      {asked.data && view.x.length === 0 && <p className="muted">None of these runs has {shown.text}.</p>}
      {view.x.length > 0 && (
        <TimePlot
          label={`${shown.text} of ${runs.join(", ")}`}
          theme={theme}
          x={view.x}
          from={view.x[0] ?? 0}
          to={(view.x.at(-1) ?? 0) + 1}
          unit="step"
          series={view.series}
          height={260}
          onSelect={() => undefined}
        />
      )}
    </section>
  );
}

async function ask(runs: readonly string[], shown: Measured | undefined, signal: AbortSignal) {
  if (!shown) return [];
  const of = { rewards: analytics.rewards, health: analytics.sidecarHealth, telemetry: analytics.telemetry }[shown.from];
  return Promise.all(
    runs.map(async (run) => ({ run, points: seriesOf(await of(run, COLUMNS, signal), shown.name) })),
  );
}
