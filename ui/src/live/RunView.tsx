/** One run, live. */

import { Fragment, useState } from "react";
import * as analytics from "../api/analytics";
import { gatewayHealth, type RunRow } from "../api/runs";
import { useResource } from "../api/useResource";
import type { ServerState } from "../api/useServer";
import { useCopy } from "../copy/copied";
import type { Theme } from "../widgets/colors";
import { EmptyState } from "../widgets/EmptyState";
import { ErrorNote } from "../widgets/ErrorNote";
import { CursorContext, TimeCursor } from "./cursor";
import { Drawer } from "./Drawer";
import { LiveStatus } from "./LiveStatus";
import { Alarms, standing } from "./panels/Alarms";
import { ChangedPanel } from "./panels/ChangedPanel";
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
import { TelemetryPanel } from "./panels/TelemetryPanel";
import { Ended } from "../runs/Ended";
import { RunHead } from "./RunHead";
import { stepStretch, stretchKey, useAsked, useScene, type Scene } from "./scene";
import { TestPanel } from "./test/TestPanel";
import { useKept } from "../widgets/useKept";
import { useOpened } from "./useOpened";
import { featureText } from "./view/address";

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
  const scene = useScene(run, theme, server.capabilities !== null);
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
      <main className="page live" id="main" data-opened={isOpen(scene)}>
        <RunHead run={run} runs={runs} newest={newest} records={records} />
        <Ended run={run} />
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
            <LossPanel scene={scene} />
            <RewardPanel scene={scene} />
            <TelemetryPanel scene={scene} />
            <HealthPanel scene={scene} asked={asked} curves={health} />
            <ScatterPanel scene={scene} layers={layers} />
            <VocabularyPanel scene={scene} />
            <ChangedPanel scene={scene} />
            <GenerationsPanel scene={scene} />
            {copy === null && <StreamLog notices={live.data.notices} />}
          </div>
        )}
        <Opened scene={scene} model={server.capabilities?.model.name ?? null} />
      </main>
      {copy === null && (
        <LiveStatus live={live} stream={stream} first={scene.overview.data?.first_step ?? null} paused={scene.paused} />
      )}
    </CursorContext>
  );
}

/** A feature, a generation and a test, beside whatever they were opened from. */
function Opened({ scene, model }: { readonly scene: Scene; readonly model: string | null }) {
  const { feature, generation, test } = scene.shown;
  const panels = new Map([
    [feature && `feature ${featureText(feature)}`, feature && <FeatureCard scene={scene} name={feature} />],
    [
      generation && `generation ${generation}`,
      generation && <Inspector scene={scene} id={generation} model={model} key={generation} />,
    ],
    [test && `test ${test}`, test && <TestPanel scene={scene} id={test} key={test} />],
  ]);
  const order = useOpened([...panels.keys()]);
  const [newest] = order;
  if (newest === undefined) return null;
  return (
    <Drawer opened={newest} onClose={() => scene.go({ feature: null, generation: null, test: null })}>
      {order.map((name) => (
        <Fragment key={name}>{panels.get(name)}</Fragment>
      ))}
    </Drawer>
  );
}

function isOpen({ shown: { feature, generation, test } }: Scene): boolean {
  return feature !== null || generation !== null || test !== null;
}
