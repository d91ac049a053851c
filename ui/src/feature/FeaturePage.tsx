/** One feature, alone on a page: what it means, what it did in a run, what it was found to do. */

import { useMemo } from "react";
import * as analytics from "../api/analytics";
import { featureInRun } from "../api/features";
import { listRuns } from "../api/runs";
import { useResource } from "../api/useResource";
import type { ServerState } from "../api/useServer";
import { Link } from "../app/Link";
import { currentAddress, navigate, queryOf, useAddress, withQuery } from "../app/location";
import { TimePlot } from "../live/plot/TimePlot";
import { activityOf } from "../live/view/activity";
import type { Theme } from "../widgets/colors";
import { ErrorNote } from "../widgets/ErrorNote";
import { StatusBar } from "../widgets/StatusBar";
import { landing } from "../runs/status";
import { Histogram } from "./Histogram";
import { Meaning } from "./Meaning";
import { Note } from "./Note";
import { RunSnippets } from "./RunSnippets";
import { SaveFeature } from "./SaveFeature";
import { TestsOfFeature } from "./TestsOfFeature";
import { TryText } from "./TryText";
import "../live/live.css";
import "./feature.css";

interface FeaturePageProps {
  readonly layer: number;
  readonly feature: number;
  readonly server: ServerState;
  readonly theme: Theme;
}

export default function FeaturePage({ layer, feature, server, theme }: FeaturePageProps) {
  const asked = queryOf(useAddress()).get("run");
  const listed = useResource("runs", listRuns);
  const runs = listed.data?.runs ?? [];
  const run = asked ?? landing(runs.filter((each) => each.layers?.includes(layer)))?.run ?? null;
  const key = run === null ? null : `${run} ${layer} ${feature}`;
  const card = useResource(key, (signal) => analytics.featureCards(run ?? "", layer, [feature], signal));
  const inRun = useResource(key && `in ${key}`, (signal) => featureInRun(run ?? "", layer, feature, signal));
  const tile = useResource(key && `activity ${key}`, (signal) =>
    analytics.featureActivity(run ?? "", layer, feature, 256, signal),
  );
  const activity = useMemo(() => (tile.data ? activityOf(tile.data) : null), [tile.data]);
  const found = card.data?.features[0];
  return (
    <>
      <main className="page live feature-page" id="main">
        <div className="run-head">
          <h1>
            Feature <span className="run-name">{feature}</span> of layer {layer}
          </h1>
          {runs.length > 0 && run !== null && (
            <label>
              in run{" "}
              <select
                value={run}
                onChange={({ target }) => navigate(withQuery(currentAddress(), { run: target.value }), { replace: true })}
              >
                {!runs.some((each) => each.run === run) && <option>{run}</option>}
                {runs.map((each) => (
                  <option key={each.run}>{each.run}</option>
                ))}
              </select>
            </label>
          )}
          {run !== null && <Link href={`/live/${encodeURIComponent(run)}?feature=${layer}.${feature}`}>in Live</Link>}
          <SaveFeature name={`feature-${layer}-${feature}`} />
        </div>
        {listed.data && run === null && <p className="muted">No run here recorded features of layer {layer}.</p>}
        {inRun.error && <ErrorNote error={inRun.error} onRetry={inRun.reload} />}
        <div className="live-panels">
          <section className="live-panel" aria-labelledby="meaning">
            <h2 id="meaning">What it means</h2>
            {card.error && <ErrorNote error={card.error} onRetry={card.reload} />}
            {card.data && !found && <p className="muted">{card.data.reason}</p>}
            {found && <Meaning feature={found} theme={theme} />}
            {card.data === null && card.loading && <Reading what="the dictionary" />}
          </section>
          <section className="live-panel" aria-labelledby="in-run">
            <h2 id="in-run">In {run ?? "a run"}</h2>
            {inRun.data && <Histogram found={inRun.data} />}
            {inRun.data === null && inRun.loading && <Reading what="the run" />}
            {activity && activity.x.length > 0 && (
              <>
                <h3>Activity over the run</h3>
                <TimePlot
                  label={`Activation of feature ${feature} over the run`}
                  theme={theme}
                  x={activity.x}
                  from={activity.x[0] ?? 0}
                  to={(activity.x.at(-1) ?? 0) + 1}
                  unit={tile.data?.unit ?? "step"}
                  series={activity.series}
                  height={140}
                  onSelect={() => undefined}
                />
              </>
            )}
          </section>
          {run !== null && inRun.data && (
            <section className="live-panel wide" aria-labelledby="strongest">
              <h2 id="strongest">Where it was strongest in {run}</h2>
              <RunSnippets found={inRun.data} run={run} theme={theme} />
            </section>
          )}
          {run !== null && <TestsOfFeature run={run} layer={layer} feature={feature} able={server.capabilities !== null} />}
          {run !== null && server.capabilities && (
            <TryText
              run={run}
              layer={layer}
              feature={feature}
              checkpoint={runs.find((each) => each.run === run)?.last_checkpoint ?? null}
              model={server.capabilities.model.name}
              theme={theme}
            />
          )}
          {run !== null && <Note run={run} layer={layer} feature={feature} key={key} />}
        </div>
      </main>
      <StatusBar connection={server.connection} />
    </>
  );
}

function Reading({ what }: { readonly what: string }) {
  return (
    <p className="reading muted" role="status">
      Reading {what}
    </p>
  );
}
