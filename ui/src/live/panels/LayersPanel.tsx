/** Layers over time: the first thing to look at, and the way to one layer's features. */

import { useMemo, useRef } from "react";
import * as analytics from "../../api/analytics";
import { MISSING_CELL } from "../../widgets/heatmap/ring";
import { count, number } from "../../widgets/numbers";
import { Toolbar } from "../../widgets/Toolbar";
import { useWidth } from "../../widgets/useWidth";
import { stretchKey, stretchOf, useAsked, type Scene } from "../scene";
import { MEASURES, type Measure } from "../stream/cells";
import { useKept } from "../../widgets/useKept";
import { chosen } from "../view/chosen";
import { HEIGHTS, layerView, type Height, type Seen } from "../view/grids";
import { axisOf, columnsIn } from "../view/window";
import { NothingHere } from "./NothingHere";
import { Panel } from "./Panel";
import { TimeHeatmap } from "./TimeHeatmap";

const MEASURE_TEXT: Record<Measure, string> = {
  activation: "strongest activation",
  loss: "reconstruction loss",
  active: "active features",
};

const NO_KEYS = [] as const;
const WITH_GAPS = ["none"] as const;
const HEIGHT_TEXT: Record<Height, string> = { high: "highest of a column", mean: "mean of a column" };

export function LayersPanel({ scene }: { readonly scene: Scene }) {
  const { run, live, shown, from, to, unit, go } = scene;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const most = columnsIn(width);
  const { measure, height } = shown;
  const asked = useAsked(scene, width === 0 ? null : `${measure} ${stretchKey(scene, most)}`, (signal) =>
    analytics.layerTile(run.run, measure, stretchOf(scene, most), signal),
  );
  const tile = useKept(asked.data, `${run.run} ${measure}`);
  const axis = useMemo(() => axisOf({ from, to }, most), [from, to, most]);
  const view = useMemo(
    () => layerView(tile, live.data, unit, axis, measure, height),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `version` stands for what is in `data`
    [tile, live.data, live.version, unit, axis, measure, height],
  );
  const meaning = `${MEASURE_TEXT[measure]}, ${HEIGHT_TEXT[height]}`;
  return (
    <Panel
      title="Layers over time"
      about="Each row is a layer that is recorded, each column a moment. Click a row, or press Enter, for its features."
      wide
      tools={
        <Toolbar label="What colours stand for">
          <label>
            Colour{" "}
            <select value={measure} onChange={({ target }) => go({ measure: chosen(MEASURES, target.value) })}>
              {MEASURES.map((each) => (
                <option key={each} value={each}>
                  {MEASURE_TEXT[each]}
                </option>
              ))}
            </select>
          </label>
          <label>
            of a column, the{" "}
            <select value={height} onChange={({ target }) => go({ height: chosen(HEIGHTS, target.value) })}>
              <option value="high">highest</option>
              <option value="mean">mean</option>
            </select>
          </label>
          <label>
            <input
              type="checkbox"
              checked={!shown.ownScales}
              onChange={(event) => go({ ownScales: !event.target.checked })}
            />{" "}
            one scale for all layers
          </label>
        </Toolbar>
      }
    >
      <div ref={box} className="measure">
        {view.rows.length === 0 ? (
          <NothingHere asked={asked} title="No records yet">
            <p>{live.data.idle ?? "They appear here the moment the trainer writes them."}</p>
          </NothingHere>
        ) : (
          <TimeHeatmap
            label={`Layers over ${unit}s: ${meaning}`}
            unit={unit}
            view={view}
            version={live.version}
            theme={scene.theme}
            width={width}
            rowName={(layer) => `layer ${layer}`}
            meaning={shown.ownScales ? `${meaning}, from a layer's least to its greatest` : meaning}
            ownScales={shown.ownScales}
            keys={view.grid.has(MISSING_CELL) ? WITH_GAPS : NO_KEYS}
            say={saySeen}
            onChoose={(layer) => go({ layer })}
            rowHeight={view.rows.length <= 8 ? 26 : view.rows.length <= 24 ? 16 : 9}
          />
        )}
      </div>
    </Panel>
  );
}

/** A cell in words. */
function saySeen({ records, stat }: Seen): string {
  if (stat === null) return records === 0 ? "no records" : `no value in ${count(records, "record")}`;
  return `mean ${number(stat.mean)}, from ${number(stat.low)} to ${number(stat.high)}, ${count(records, "record")}`;
}
