/** Tests that were made of this run's features: each opens where it was made. */

import { sweepHistory } from "../../api/sweeps";
import { useResource } from "../../api/useResource";
import { ListTable, type Column } from "../../widgets/ListTable";
import { ago } from "../../widgets/numbers";
import { useNow } from "../../widgets/useNow";
import type { Scene } from "../scene";
import { askedOf, testsOf } from "./past";

const LOOKED_AT = 200;
const SHOWN = 12;
const EVERY_MS = 5_000;

const COLUMNS: readonly Column[] = [
  { name: "test" },
  { name: "layer" },
  { name: "asked about", about: "The feature that was named; others come first by attribution." },
  { name: "state" },
];

/** Nothing where there are none. */
export function PastTests({ scene }: { readonly scene: Scene }) {
  const { run, shown, go } = scene;
  const found = useResource(`tests ${shown.test ?? ""}`, (signal) => sweepHistory({ limit: LOOKED_AT }, signal), { every: EVERY_MS });
  const now = useNow();
  const tests = testsOf(found.data?.sweeps ?? [], run.run).slice(0, SHOWN);
  if (tests.length === 0) return null;
  return (
    <>
      <h3>Tests made so far</h3>
      <ListTable label="Tests made so far" columns={COLUMNS}>
        {tests.map((entry) => {
          const asked = askedOf(entry);
          return (
            <tr key={entry.id} aria-current={entry.id === shown.test ? "true" : undefined}>
              <th scope="row">
                <button type="button" className="link-button" onClick={() => go({ test: entry.id })}>
                  {asked.model?.split("@")[1]}, {ago((now - Date.parse(entry.created)) / 1000)}
                </button>
              </th>
              <td>{asked.layer}</td>
              <td>{asked.also.join(", ")}</td>
              <td data-state={entry.state}>{entry.state}</td>
            </tr>
          );
        })}
      </ListTable>
    </>
  );
}
