/** The newest generations, with what they were rewarded. */

import { useMemo } from "react";
import * as analytics from "../../api/analytics";
import { useCopy } from "../../copy/copied";
import { ListTable, type Column } from "../../widgets/ListTable";
import { number } from "../../widgets/numbers";
import { fit, visible } from "../../widgets/tokens";
import { useAsked, type Scene } from "../scene";
import { NothingHere } from "./NothingHere";
import { Panel } from "./Panel";
import { missing } from "./RewardPanel";

const MOST = 40;
const EXCERPT = 90;

const COLUMNS: readonly Column[] = [
  { name: "generation", about: "The step that learned from it, and its number there." },
  { name: "R", about: "Its reward, from 0 to 1." },
  { name: "gate", about: "R_A: whether it may be rewarded at all." },
  { name: "completion" },
];

interface Row {
  readonly generation_id: string;
  readonly step: number;
  readonly R: number | null;
  readonly gate: boolean | null;
  readonly completion: string | null;
}

export function GenerationsPanel({ scene }: { readonly scene: Scene }) {
  const { run, live, shown, go } = scene;
  const copied = useCopy() !== null;
  const asked = useAsked(scene, "generations", (signal) => analytics.generations(run.run, MOST, signal));
  const rows = useMemo(
    () => newest(live.data.generations.all(), asked.data?.generations ?? []),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `version` stands for what is in `data`
    [live.data, live.version, asked.data],
  );
  return (
    <Panel
      title="Generations"
      wide={copied && shown.generation === null}
      about="The newest completions. Open one to read it token by token."
    >
      {rows.length === 0 ? (
        <NothingHere asked={asked} title="No generations">
          <p>{asked.data?.reason ?? missing(run.missing, "generations.jsonl")}</p>
        </NothingHere>
      ) : (
        <ListTable label="Generations" columns={COLUMNS} tall>
          {rows.map((row) => (
            <tr key={row.generation_id} aria-current={row.generation_id === shown.generation ? "true" : undefined}>
              <th scope="row">
                <button type="button" className="link-button" onClick={() => go({ generation: row.generation_id })}>
                  {row.generation_id}
                </button>
              </th>
              <td>{number(row.R)}</td>
              <td>{row.gate === null ? "none" : row.gate ? "passed" : "failed"}</td>
              <td className="prose code">
                <bdi>{fit(visible(row.completion ?? ""), EXCERPT)}</bdi>
              </td>
            </tr>
          ))}
        </ListTable>
      )}
    </Panel>
  );
}

/** From stream and server together, each once, newest first. */
export function newest(streamed: readonly Row[], told: readonly Row[]): Row[] {
  const all = new Map([...told, ...streamed].map((row) => [row.generation_id, row]));
  const order = (row: Row) => Number(row.generation_id.split("-").at(-1) ?? 0);
  return [...all.values()].sort((one, other) => other.step - one.step || order(other) - order(one)).slice(0, MOST);
}
