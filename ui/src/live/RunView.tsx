/** One run, live. */

import { useState } from "react";
import * as analytics from "../api/analytics";
import { gatewayHealth, type RunRow } from "../api/runs";
import { useResource } from "../api/useResource";
import type { ServerState } from "../api/useServer";
import { useCopy } from "../copy/copied";
import type { Theme } from "../widgets/colors";
import { EmptyState } from "../widgets/EmptyState";
import { ErrorNote } from "../widgets/ErrorNote";
import { CursorContext, TimeCursor } from "./cursor";
import { LiveStatus } from "./LiveStatus";
import { Alarms, standing } from "./panels/Alarms";
import { FeatureCard } from "./panels/FeatureCard";
import { FeaturesPanel } from "./panels/FeaturesPanel";
import { GenerationsPanel } from "./panels/GenerationsPanel";
import { HealthPanel } from "./panels/HealthPanel";
import { Inspector } from "./panels/Inspector";
import { LayersPanel } from "./panels/LayersPanel";
import { LossPanel } from "./panels/LossPanel";
import { RewardPanel } from "./panels/RewardPanel";
import { ScatterPanel } from "./panels/ScatterPanel";
import { StreamLog } from "./panels/StreamLog";
import { TimeBar } from "./panels/TimeBar";
import { VocabularyPanel } from "./panels/VocabularyPanel";
import { RunHead } from "./RunHead";
import { stepStretch, stretchKey, useAsked, useScene } from "./scene";
import { useKept } from "./useKept";

interface RunViewProps {
  readonly run: RunRow;
  readonly runs: readonly RunRow[];
  readonly server: ServerState;
  readonly theme: Theme;
}

const HEALTH_MS = 5_000;
const COLUMNS = 256;

export function RunView({ run, runs, server, theme }: RunViewProps) {
  const [cursor] = useState(() => new TimeCursor());
  const scene = useScene(run, theme);
  const { live, shown } = scene;
  const copy = useCopy();
  const gateway = useResource(copy ? null : "gateway", gatewayHealth, { every: HEALTH_MS });
  const stream = gateway.data?.runs.find((each) => each.run === run.run) ?? null;
  const asked = useAsked(scene, `health ${stretchKey(scene, COLUMNS)}`, (signal) =>
    analytics.sidecarHealth(run.run, stepStretch(scene, COLUMNS), signal),
  );
  const health = useKept(asked.data, run.run);
  const layers = scene.overview.data?.layers.map(({ layer }) => layer) ?? run.layers ?? [];
  const records = scene.overview.data?.coverage.records ?? null;
  const newest = live.data.newestStep ?? scene.overview.data?.last_step ?? null;
  const ended = run.status !== null && run.status !== "running";
  const nothing = scene.extent === null && !scene.overview.loading && !scene.overview.error;
  return (
    <CursorContext value={cursor}>
      <main className="page live" id="main">
        <RunHead run={run} runs={runs} newest={newest} records={records} />
        {live.refused !== null && <ErrorNote error={live.refused} />}
        <Alarms alarms={standing(live.data, health?.alarms ?? [])} stream={stream} bad={live.data.counts.bad} />
        <TimeBar scene={scene} />
        {nothing ? (
          <EmptyState title={ended ? "This run has no records" : "Waiting for the first record"}>
            <p>{live.data.idle ?? "The run is there, and nothing has been recorded yet."}</p>
          </EmptyState>
        ) : (
          <div className="live-panels">
            <LayersPanel scene={scene} />
            {shown.layer !== null && <FeaturesPanel scene={scene} layer={shown.layer} key={shown.layer} />}
            {shown.feature && <FeatureCard scene={scene} name={shown.feature} />}
            <LossPanel scene={scene} />
            <RewardPanel scene={scene} />
            <HealthPanel scene={scene} asked={asked} curves={health} />
            <ScatterPanel scene={scene} layers={layers} />
            <VocabularyPanel scene={scene} />
            <GenerationsPanel scene={scene} />
            {shown.generation !== null && (
              <Inspector
                scene={scene}
                id={shown.generation}
                model={server.capabilities?.model.name ?? null}
                key={shown.generation}
              />
            )}
            {copy === null && <StreamLog notices={live.data.notices} />}
          </div>
        )}
      </main>
      {copy === null && (
        <LiveStatus live={live} stream={stream} first={scene.overview.data?.first_step ?? null} paused={scene.paused} />
      )}
    </CursorContext>
  );
}
