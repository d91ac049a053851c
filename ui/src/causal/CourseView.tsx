/** A table through a run's checkpoints: what became of each site, head or feature, and two steps beside each other. */

import { useMemo } from "react";
import type { HeadShape, SweepTable } from "../api/types";
import { navigate, queryOf, useAddress, withQuery } from "../app/location";
import type { Theme } from "../widgets/colors";
import { EmptyState } from "../widgets/EmptyState";
import { ListTable } from "../widgets/ListTable";
import { grouped, number } from "../widgets/numbers";
import { reachOf } from "../widgets/scale";
import { difference, type Found } from "./compare";
import { bothSteps, changesAt, drawn, isWithinNoise, leftOut, stepsOf } from "./course";
import { TablePanels } from "./TablePanels";
import { panelsOf, tableScale } from "./tables";

export interface CourseViewProps {
  readonly found: SweepTable;
  readonly finished: boolean;
  readonly heads: HeadShape | null;
  readonly theme: Theme;
}

export default function CourseView({ found, finished, heads, theme }: CourseViewProps) {
  if (!finished || !found.checkpoints) {
    return (
      <EmptyState title="One checkpoint after the other, the newest first">
        <p>Changes are from each checkpoint's own unpatched prompt, so the picture comes when all have been swept.</p>
      </EmptyState>
    );
  }
  return <Course found={found} heads={heads} theme={theme} />;
}

function Course({ found, heads, theme }: Omit<CourseViewProps, "finished">) {
  const { picture, doubtful, missing } = useMemo(() => {
    const made = drawn(found);
    return { picture: made, doubtful: isWithinNoise(found, made), missing: leftOut(found, made) };
  }, [found]);
  return (
    <>
      <p className="muted">
        Changes from each checkpoint's own unpatched prompt; over positions the strongest. Hatched: within the noise
        floor of its step.{missing > 0 && ` ${grouped(missing)} columns that never do as much are left out; the CSV has them.`}
      </p>
      <TablePanels found={picture} theme={theme} doubtful={doubtful} doubt="noise" />
      <details className="table-twin">
        <summary>What each checkpoint is read against</summary>
        <ListTable
          label="Checkpoints"
          columns={[{ name: "step" }, { name: "unpatched" }, { name: "clean" }, { name: "noise floor" }, { name: "weights" }]}
        >
          {found.checkpoints?.map(({ step, corrupt, clean, noise_floor: floor, weights }) => (
            <tr key={step}>
              <th scope="row">{step}</th>
              <td>{number(corrupt[found.metric])}</td>
              <td>{number(clean?.[found.metric])}</td>
              <td>{number(floor[found.metric])}</td>
              <td>
                <code>{weights}</code>
              </td>
            </tr>
          ))}
        </ListTable>
      </details>
      <TwoSteps found={found} heads={heads} theme={theme} />
    </>
  );
}

/** Every cell of one step less that of another, both as changes: what the unpatched prompts differ in is not in it. */
function TwoSteps({ found, heads, theme }: Omit<CourseViewProps, "finished">) {
  const address = useAddress();
  const steps = stepsOf(found);
  const chosen = bothSteps(queryOf(address), steps);
  const sides = useMemo(() => {
    const [one, other] = [chosen && changesAt(found, chosen.step), chosen && changesAt(found, chosen.against)];
    if (!one || !other) return null;
    const reach = Math.max(...[one, other].map((each) => reachOf(tableScale(each, panelsOf(each)))));
    return { one, other, reach, made: difference(one, other) };
  }, [found, chosen?.step, chosen?.against]); // eslint-disable-line react-hooks/exhaustive-deps -- `chosen` is made anew each time
  if (chosen === null || sides === null) return null;
  const go = (name: string, value: string) => navigate(withQuery(address, { [name]: value }), { replace: true });
  const choice = (name: "step" | "against", label: string) => (
    <label>
      {label}{" "}
      <select value={chosen[name]} onChange={({ target }) => go(name, target.value)}>
        {steps.map((step) => (
          <option key={step} value={step}>
            step {step}
          </option>
        ))}
      </select>
    </label>
  );
  const side = (step: number, each: Found) => (
    <section aria-label={`step ${step}`}>
      <h3>Step {step}</h3>
      <TablePanels found={each} reach={sides.reach} heads={heads} theme={theme} />
    </section>
  );
  return (
    <section aria-labelledby="two-steps" className="two-steps">
      <h2 id="two-steps">One step against another</h2>
      <p className="toolbar">
        {choice("step", "A:")} {choice("against", "B:")}
      </p>
      <div className="two-sweeps">
        {side(chosen.step, sides.one)}
        {side(chosen.against, sides.other)}
      </div>
      <h3>A minus B</h3>
      {sides.made ? (
        <TablePanels found={sides.made.found} heads={heads} theme={theme} />
      ) : (
        <p className="warning">The two steps have no cell in common, so they have no difference.</p>
      )}
    </section>
  );
}
