/** Whether the dictionaries still fit the policy as it moves. */

import { useMemo } from "react";
import type { Curves } from "../../api/analytics";
import type { Resource } from "../../api/useResource";
import { count, duration } from "../../widgets/numbers";
import { TimePlot } from "../plot/TimePlot";
import type { Scene } from "../scene";
import { chosen } from "../view/chosen";
import { FIT_TEXT, FITS, healthView } from "../view/curves";
import { NothingHere } from "./NothingHere";
import { Panel } from "./Panel";
import { missing } from "./RewardPanel";

interface HealthPanelProps {
  readonly scene: Scene;
  readonly asked: Resource<Curves>;
  /** The last answer there was. */
  readonly curves: Curves | null;
}

export function HealthPanel({ scene, asked, curves }: HealthPanelProps) {
  const { run, live, shown, from, to, go } = scene;
  const view = useMemo(
    () => healthView(curves, live.data.health.all(), shown.fit),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `version` stands for what is in `data`
    [curves, live.data, live.version, shown.fit],
  );
  const last = live.data.health.last;
  return (
    <Panel
      title="Dictionary health"
      about="A dictionary was made for the model as it was. When it no longer fits, its features mean less."
      tools={
        <label>
          <span className="unseen">Show </span>
          <select value={shown.fit} onChange={({ target }) => go({ fit: chosen(FITS, target.value) })}>
            {FITS.map((fit) => (
              <option key={fit} value={fit}>
                {FIT_TEXT[fit]}
              </option>
            ))}
          </select>
        </label>
      }
    >
      {view.x.length === 0 ? (
        <NothingHere asked={asked} title="No health lines">
          <p>{curves?.reason ?? missing(run.missing, "sae_health.jsonl")}</p>
        </NothingHere>
      ) : (
        <TimePlot
          label={FIT_TEXT[shown.fit]}
          theme={scene.theme}
          x={view.x}
          from={from}
          to={to}
          unit="step"
          series={view.series}
          onSelect={(start, end) => go({ window: { kind: "fixed", from: start, to: end + 1 } })}
        />
      )}
      {last && (
        <p className="muted small">
          By step {last.step}, {count(last.records_written, "record")} written and{" "}
          {count(last.records_dropped, "record")} dropped
          {(last.records_lost ?? 0) > 0 && `, ${count(last.records_lost ?? 0, "of them", "of them")} lost to a full disk`}
          {last.sidecar_ms !== null && `; recording costs ${duration(last.sidecar_ms / 1000)} a step`}.
        </p>
      )}
    </Panel>
  );
}
