/** How training itself goes: what an engineer looks for first, each on a scale of its own. */

import { useMemo } from "react";
import * as analytics from "../../api/analytics";
import type { Curves } from "../../api/analytics";
import { TimePlot } from "../plot/TimePlot";
import { stepStretch, stretchKey, useAsked, type Scene } from "../scene";
import { useKept } from "../../widgets/useKept";
import { TELEMETRY, TELEMETRY_TEXT, telemetryView, type TelemetryName } from "../view/curves";
import { NothingHere } from "./NothingHere";
import { Panel } from "./Panel";

const COLUMNS = 256;

export function TelemetryPanel({ scene }: { readonly scene: Scene }) {
  const { run } = scene;
  const asked = useAsked(scene, `telemetry ${stretchKey(scene, COLUMNS)}`, (signal) =>
    analytics.telemetry(run.run, stepStretch(scene, COLUMNS), signal),
  );
  const curves = useKept(asked.data, run.run);
  return (
    <Panel title="Telemetry" wide about="What the trainer logs of each step, and what the sidecar counts beside it.">
      {curves === null || curves.series.length === 0 ? (
        <NothingHere asked={asked} title="No telemetry">
          <p>{curves?.reason}</p>
        </NothingHere>
      ) : (
        <div className="small-plots">
          {TELEMETRY.map((name) => (
            <One key={name} scene={scene} curves={curves} name={name} />
          ))}
        </div>
      )}
    </Panel>
  );
}

function One({ scene, curves, name }: { readonly scene: Scene; readonly curves: Curves; readonly name: TelemetryName }) {
  const { from, to, unit, go, theme } = scene;
  const view = useMemo(() => telemetryView(curves, name), [curves, name]);
  const text = TELEMETRY_TEXT[name];
  if (view.x.length === 0)
    return (
      <p className="muted small">
        {text.name}: {text.none}
      </p>
    );
  return (
    <TimePlot
      label={text.name}
      theme={theme}
      x={view.x}
      from={unit === "step" ? from : (view.x[0] ?? 0)}
      to={unit === "step" ? to : (view.x.at(-1) ?? 0) + 1}
      unit="step"
      series={view.series}
      height={110}
      onSelect={(start, end) => go({ window: { kind: "fixed", from: start, to: end + 1 } })}
    />
  );
}
