/** How badly the dictionaries explain the policy, with sudden failures flagged. */

import { useMemo, useRef } from "react";
import * as analytics from "../../api/analytics";
import { count, number } from "../../widgets/numbers";
import { TimePlot } from "../plot/TimePlot";
import type { Flag, LineSeries } from "../plot/timeOptions";
import { useWidth } from "../../widgets/useWidth";
import { stretchKey, stretchOf, useAsked, type Scene } from "../scene";
import { useKept } from "../../widgets/useKept";
import { layerView, type HeatView } from "../view/grids";
import { spikesOf } from "../view/spikes";
import { axisOf, columnName, columnsIn, timeOf } from "../view/window";
import { NothingHere } from "./NothingHere";
import { Panel } from "./Panel";

const MOST_SAID = 4;

export function LossPanel({ scene }: { readonly scene: Scene }) {
  const { run, live, from, to, unit, go } = scene;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const most = columnsIn(width);
  const asked = useAsked(scene, width === 0 ? null : `loss ${stretchKey(scene, most)}`, (signal) =>
    analytics.layerTile(run.run, "loss", stretchOf(scene, most), signal),
  );
  const tile = useKept(asked.data, run.run);
  const axis = useMemo(() => axisOf({ from, to }, most), [from, to, most]);
  const view = useMemo(
    () => layerView(tile, live.data, unit, axis, "loss", "mean"),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `version` stands for what is in `data`
    [tile, live.data, live.version, unit, axis],
  );
  const { x, series, flags, spikes } = useMemo(() => lossLines(view), [view]);
  return (
    <Panel
      title="Reconstruction loss"
      about="Squared error of what the dictionary rebuilds, mean and extremes of a column. A ring is a spike: its highest is far above the columns before it."
    >
      <div ref={box}>
        {view.rows.length === 0 ? (
          <NothingHere asked={asked} title="No losses yet" />
        ) : (
          <>
            <TimePlot
              label="Reconstruction loss"
              theme={scene.theme}
              x={x}
              from={from}
              to={to}
              unit={unit}
              series={series}
              flags={flags}
              onSelect={(start, end) => go({ window: { kind: "fixed", from: start, to: end + 1 } })}
            />
            <p className="spikes">
              {spikes.length === 0 ? "No spikes here." : `${count(spikes.length, "spike")}: `}
              {spikes
                .slice(-MOST_SAID)
                .map(
                  ({ layer, column, high }) =>
                    `layer ${layer} at ${unit} ${columnName(axis, column)} (${number(high)})`,
                )
                .join("; ")}
            </p>
          </>
        )}
      </div>
    </Panel>
  );
}

interface Spike {
  readonly layer: number;
  readonly column: number;
  readonly high: number;
}

function lossLines(view: HeatView): { x: number[]; series: LineSeries[]; flags: Flag[]; spikes: Spike[] } {
  const columns = Array.from({ length: view.axis.columns }, (_, column) => column);
  const stats = view.rows.map((_, row) => columns.map((column) => view.at(row, column).stat));
  const spikes = stats.flatMap((each, row) =>
    spikesOf(each.map((stat) => stat?.high ?? null)).map((column) => ({
      layer: view.rows[row] ?? 0,
      column,
      high: each[column]?.high ?? 0,
    })),
  );
  return {
    x: columns.map((column) => timeOf(view.axis, column)),
    series: stats.map((each, row) => ({
      name: `layer ${view.rows[row] ?? 0}`,
      mean: each.map((stat) => stat?.mean ?? null),
      low: each.map((stat) => stat?.low ?? null),
      high: each.map((stat) => stat?.high ?? null),
    })),
    spikes: spikes.sort((one, other) => one.column - other.column),
    flags: spikes.map(({ column, high }) => ({ x: timeOf(view.axis, column), y: high })),
  };
}
