/** One layer's strongest features over time. */

import { useMemo, useRef } from "react";
import * as analytics from "../../api/analytics";
import { number } from "../../widgets/numbers";
import { useWidth } from "../../widgets/useWidth";
import { stretchKey, stretchOf, useAsked, type Scene } from "../scene";
import { useKept } from "../../widgets/useKept";
import { featureView, type Seen } from "../view/grids";
import { axisOf, columnsIn } from "../view/window";
import { NothingHere } from "./NothingHere";
import { Panel } from "./Panel";
import { TimeHeatmap } from "./TimeHeatmap";

const MOST_FEATURES = 16;
const NO_KEYS = [] as const;

export function FeaturesPanel({ scene, layer }: { readonly scene: Scene; readonly layer: number }) {
  const { run, live, from, to, unit, go } = scene;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const most = columnsIn(width);
  const asked = useAsked(scene, width === 0 ? null : `features ${layer} ${stretchKey(scene, most)}`, (signal) =>
    analytics.featureTile(run.run, layer, MOST_FEATURES, stretchOf(scene, most), signal),
  );
  const tile = useKept(asked.data, `${run.run} ${layer}`);
  const axis = useMemo(() => axisOf({ from, to }, most), [from, to, most]);
  const view = useMemo(
    () => featureView(tile, live.data, unit, layer, axis, MOST_FEATURES),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `version` stands for what is in `data`
    [tile, live.data, live.version, unit, layer, axis],
  );
  return (
    <Panel
      title={`Layer ${layer}: its strongest features`}
      about="Each row is a feature, the most active on top; empty where it was not among a token's strongest. Click one, or press Enter, for what it means."
      wide
      tools={
        <button type="button" className="quiet-button" onClick={() => go({ layer: null })}>
          Close
        </button>
      }
    >
      <div ref={box} className="measure">
        {view.rows.length === 0 ? (
          <NothingHere asked={asked} title={`Layer ${layer} has no active features here`}>
            <p>{tile?.reason ?? "None was among the strongest of any token in this stretch of time."}</p>
          </NothingHere>
        ) : (
          <TimeHeatmap
            label={`Highest activation of features of layer ${layer} over ${unit}s`}
            unit={unit}
            view={view}
            version={live.version}
            theme={scene.theme}
            width={width}
            rowName={(feature) => `${feature}`}
            meaning="highest activation"
            keys={NO_KEYS}
            say={sayFeature}
            onChoose={(feature) => go({ feature: { layer, feature } })}
            rowHeight={18}
          />
        )}
      </div>
    </Panel>
  );
}

function sayFeature({ records, stat }: Seen): string {
  if (stat === null) return records === 0 ? "no records" : "not among the strongest";
  return `highest activation ${number(stat.high)}`;
}
