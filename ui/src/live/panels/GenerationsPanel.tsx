/** Generations with what they were rewarded: filtered, sorted, searched, and those of one prompt together. */

import { useMemo, useState } from "react";
import * as analytics from "../../api/analytics";
import { useCopy } from "../../copy/copied";
import { ListTable, type Column } from "../../widgets/ListTable";
import { count, number } from "../../widgets/numbers";
import { fit, visible } from "../../widgets/tokens";
import { useAsked, type Scene } from "../scene";
import { GATES, ORDERS } from "../view/address";
import { chosen } from "../view/chosen";
import { listed, newest, type Listed } from "../view/listed";
import { NothingHere } from "./NothingHere";
import { Panel } from "./Panel";
import { missing } from "./RewardPanel";

/** How many are looked at, and how many are shown. */
const LOOKED_AT = 500;
const SHOWN = 60;
const EXCERPT = 90;

const COLUMNS: readonly Column[] = [
  { name: "generation", about: "The step that learned from it, and its number there." },
  { name: "R", about: "Its reward, from 0 to 1." },
  { name: "gate", about: "R_A: whether it may be rewarded at all." },
  { name: "advantage", about: "How far R is above the other completions of its prompt, in the trainer's units." },
  { name: "completion" },
];
const ORDER_TEXT = { newest: "newest first", R: "highest R first", advantage: "highest advantage first" };

export function GenerationsPanel({ scene }: { readonly scene: Scene }) {
  const { run, live, shown, go } = scene;
  const { list } = shown;
  const copied = useCopy() !== null;
  const [most, setMost] = useState(SHOWN);
  const asked = useAsked(scene, "generations", (signal) => analytics.generations(run.run, LOOKED_AT, signal));
  const all = useMemo(
    () => newest<Listed>(live.data.generations.all(), asked.data?.generations ?? []),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `version` stands for what is in `data`
    [live.data, live.version, asked.data],
  );
  const rows = useMemo(() => listed(all, list), [all, list]);
  const total = asked.data?.total ?? all.length;
  return (
    <Panel
      title="Generations"
      wide={copied}
      about={`${total > all.length ? `The newest ${count(all.length, "completion")} of ${count(total, "completion")}` : count(all.length, "completion")}. Open one to read it token by token.`}
    >
      {all.length === 0 ? (
        <NothingHere asked={asked} title="No generations">
          <p>{asked.data?.reason ?? missing(run.missing, "generations.jsonl")}</p>
        </NothingHere>
      ) : (
        <>
          <div className="toolbar list-tools">
            <label>
              Show{" "}
              <select value={list.gate} onChange={({ target }) => go({ list: { ...list, gate: chosen(GATES, target.value) } })}>
                {GATES.map((each) => (
                  <option key={each}>{each}</option>
                ))}
              </select>
            </label>
            <label>
              Order{" "}
              <select value={list.by} onChange={({ target }) => go({ list: { ...list, by: chosen(ORDERS, target.value) } })}>
                {ORDERS.map((each) => (
                  <option key={each} value={each}>
                    {ORDER_TEXT[each]}
                  </option>
                ))}
              </select>
            </label>
            <label>
              Search <input type="search" value={list.find} onChange={({ target }) => go({ list: { ...list, find: target.value } })} />
            </label>
            <label className="tick">
              <input
                type="checkbox"
                checked={list.grouped}
                onChange={({ target }) => go({ list: { ...list, grouped: target.checked } })}
              />{" "}
              by prompt
            </label>
          </div>
          {rows.length === 0 && <p className="muted">None of them.</p>}
          {rows.length > 0 && (
            <ListTable label="Generations" columns={COLUMNS} tall>
              {rows.slice(0, most).flatMap((row, index) => [
                ...(list.grouped && row.group_id !== rows[index - 1]?.group_id ? [<Prompt key={`of ${row.group_id}`} row={row} />] : []),
                <Row key={row.generation_id} row={row} current={row.generation_id === shown.generation} onOpen={() => go({ generation: row.generation_id })} />,
              ])}
            </ListTable>
          )}
          {rows.length > most && (
            <p className="toolbar">
              <button type="button" onClick={() => setMost(most + 4 * SHOWN)}>
                Show more of {count(rows.length, "completion")}
              </button>
            </p>
          )}
        </>
      )}
    </Panel>
  );
}

function Prompt({ row }: { readonly row: Listed }) {
  return (
    <tr className="group-row">
      <th scope="rowgroup" colSpan={COLUMNS.length}>
        <bdi>{fit(visible((row.prompt ?? "a prompt that is no longer in the file").split("\n").at(-1) ?? ""), EXCERPT)}</bdi>
      </th>
    </tr>
  );
}

interface RowProps {
  readonly row: Listed;
  readonly current: boolean;
  readonly onOpen: () => void;
}

function Row({ row, current, onOpen }: RowProps) {
  return (
    <tr aria-current={current ? "true" : undefined}>
      <th scope="row">
        <button type="button" className="link-button" onClick={onOpen}>
          {row.generation_id}
        </button>
      </th>
      <td>{number(row.R)}</td>
      <td>{row.gate === null ? "none" : row.gate ? "passed" : "failed"}</td>
      <td>{number(row.advantage)}</td>
      <td className="prose code">
        <bdi>{fit(visible(row.completion ?? ""), EXCERPT)}</bdi>
      </td>
    </tr>
  );
}
