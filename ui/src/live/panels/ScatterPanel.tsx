/** Whether generations that a dictionary explains badly are rewarded differently. */

import { useMemo, useState } from "react";
import * as analytics from "../../api/analytics";
import type { Correlation } from "../../api/analytics";
import { ListTable, type Column } from "../../widgets/ListTable";
import { number } from "../../widgets/numbers";
import { PointPlot } from "../plot/PointPlot";
import { useAsked, type Scene } from "../scene";
import { AMONG_TEXT, coefficientText, pointsOf } from "../view/points";
import { NothingHere } from "./NothingHere";
import { Panel } from "./Panel";

const MOST_POINTS = 2000;

const COLUMNS: readonly Column[] = [
  { name: "among" },
  { name: "n", about: "Generations that have both a reward and records of this layer." },
  { name: "Pearson r", about: "Correlation of loss and R, with its 95 % interval in brackets." },
  { name: "Spearman r", about: "The same of their ranks." },
];

interface ScatterPanelProps {
  readonly scene: Scene;
  readonly layers: readonly number[];
}

export function ScatterPanel({ scene, layers }: ScatterPanelProps) {
  const { run, shown, go } = scene;
  const [chosen, setChosen] = useState<number | null>(null);
  const layer = chosen ?? shown.layer ?? layers[0] ?? null;
  const [pointed, setPointed] = useState<number | null>(null);
  const asked = useAsked(scene, layer === null ? null : `scatter ${layer}`, (signal) =>
    analytics.scatter(run.run, layer ?? 0, MOST_POINTS, signal),
  );
  const found = asked.data;
  const points = useMemo(() => (found ? pointsOf(found) : null), [found]);
  const at = pointed !== null && points ? pointed : null;
  return (
    <Panel
      title="Loss against reward"
      about="A point is a generation: its mean reconstruction loss in one layer, and its final R."
      tools={
        <label>
          Layer{" "}
          <select value={layer ?? ""} onChange={(event) => setChosen(Number(event.target.value))}>
            {layers.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      }
    >
      {(points === null || points.x.length === 0) && (
        <NothingHere asked={asked} title="No points">
          <p>{found?.reason ?? "No generation has both a reward and records yet."}</p>
        </NothingHere>
      )}
      {found && points && points.x.length > 0 && (
        <>
          <PointPlot
            label={`Reconstruction loss of layer ${layer ?? ""} against reward: ${points.nPassed} generations passed the gate, ${points.nFailed} failed`}
            theme={scene.theme}
            xLabel="mean reconstruction loss"
            yLabel="R"
            x={points.x}
            filled={points.passed}
            hollow={points.failed}
            onPoint={setPointed}
            onChoose={(index) => go({ generation: points.generations[index] ?? null })}
          />
          <p className="point-keys">
            <span className="key-filled">gate passed ({points.nPassed})</span>
            <span className="key-hollow">gate failed ({points.nFailed})</span>
            <span className="muted">
              {at === null
                ? "Click a point to read its generation."
                : `${points.generations[at] ?? ""}: loss ${number(points.x[at])}, R ${number(points.passed[at] ?? points.failed[at])}`}
            </span>
          </p>
          <Correlations rows={found.correlations} />
        </>
      )}
    </Panel>
  );
}

function Correlations({ rows }: { readonly rows: readonly Correlation[] }) {
  return (
    <ListTable label="Correlations of loss and reward" columns={COLUMNS}>
      {rows.map((row) => (
        <tr key={row.among}>
          <th scope="row">{AMONG_TEXT[row.among]}</th>
          <td>{row.n}</td>
          <td>{coefficientText(row.pearson, row.reason)}</td>
          <td>{row.pearson || row.spearman ? coefficientText(row.spearman, row.reason) : ""}</td>
        </tr>
      ))}
    </ListTable>
  );
}
