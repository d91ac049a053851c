/** Whether the policy learns: its reward, and how many completions pass the gate. */

import { useMemo } from "react";
import * as analytics from "../../api/analytics";
import { TimePlot } from "../plot/TimePlot";
import { stepStretch, stretchKey, useAsked, type Scene } from "../scene";
import { useKept } from "../../widgets/useKept";
import { rewardView } from "../view/curves";
import { NothingHere } from "./NothingHere";
import { Panel } from "./Panel";

const COLUMNS = 256;
const RANGE = [0, 1] as const;

export function RewardPanel({ scene }: { readonly scene: Scene }) {
  const { run, live, from, to, unit, go } = scene;
  const asked = useAsked(scene, `rewards ${stretchKey(scene, COLUMNS)}`, (signal) =>
    analytics.rewards(run.run, stepStretch(scene, COLUMNS), signal),
  );
  const curves = useKept(asked.data, run.run);
  const view = useMemo(
    () => rewardView(curves, live.data.metrics.all()),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `version` stands for what is in `data`
    [curves, live.data, live.version],
  );
  return (
    <Panel title="Reward" about="Of a step's completions: the mean, over the band that holds their middle half; the median, over the one from 10 to 90 in 100; and the share that passed the gate.">
      {view.x.length === 0 ? (
        <NothingHere asked={asked} title="No rewards">
          <p>{curves?.reason ?? missing(run.missing, "grpo_metrics.jsonl")}</p>
        </NothingHere>
      ) : (
        <TimePlot
          label="Reward"
          theme={scene.theme}
          x={view.x}
          from={unit === "step" ? from : (view.x[0] ?? 0)}
          to={unit === "step" ? to : (view.x.at(-1) ?? 0) + 1}
          unit="step"
          series={view.series}
          range={RANGE}
          onSelect={(start, end) => go({ window: { kind: "fixed", from: start, to: end + 1 } })}
        />
      )}
    </Panel>
  );
}

/** Why there is nothing: the file is not there, or has nothing in it yet. */
export function missing(files: readonly string[], file: string): string {
  return files.includes(file)
    ? `The run has no ${file}. Trainers that Sonde did not write leave it out.`
    : "The trainer has written none yet.";
}
