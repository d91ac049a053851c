/** One pair of prompts, or many: a task that comes with Sonde, or a file of one's own. */

import { useState, type DragEvent } from "react";
import { asError } from "../api/errors";
import type { PromptPair } from "../api/types";
import { ErrorNote } from "../widgets/ErrorNote";
import { count } from "../widgets/numbers";
import type { Draft } from "./draft";
import { pairsOfFile, sharedRoles, taskOf } from "./pairs";
import { useTasks, type PairFile } from "./usePairs";

interface PairFieldsProps {
  readonly draft: Draft;
  readonly change: (changes: Partial<Draft>) => void;
  readonly found: readonly PromptPair[] | null;
  readonly failure: Error | null;
  readonly onFile: (file: PairFile) => void;
}

export function PairFields({ draft, change, found, failure, onFile }: PairFieldsProps) {
  const tasks = useTasks();
  const [fault, setFault] = useState<Error | null>(null);
  const [over, setOver] = useState(false);
  const task = taskOf(draft.pairs);
  const isFile = draft.pairs.startsWith("file:");
  const take = async (file: File | undefined) => {
    if (file === undefined) return;
    try {
      onFile({ name: file.name, pairs: pairsOfFile(await file.text()) });
      change({ pairs: `file:${file.name}`, positions: "all" });
      setFault(null);
    } catch (error) {
      setFault(asError(error));
    }
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void take(event.dataTransfer.files[0]);
  };
  const roles = found === null || draft.pairs === "" ? [] : sharedRoles(found);
  return (
    <fieldset
      className="pair-drop"
      data-over={over}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
      <legend className="unseen">One pair or many</legend>
      <div className="short-fields">
        <label className="field">
          <span>Pairs</span>
          <select
            value={task?.name ?? (isFile ? "file" : "")}
            onChange={({ target }) => {
              if (target.value !== "file") change({ pairs: target.value === "" ? "" : `${target.value}:40`, positions: "all" });
            }}
          >
            <option value="">one, written below</option>
            {(tasks.data ?? []).map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
            {isFile && <option value="file">{draft.pairs.slice(5)}</option>}
          </select>
        </label>
        {task ? (
          <label className="field">
            <span>How many</span>
            <input
              type="number"
              min="1"
              value={task.n}
              onChange={({ target }) =>
                target.valueAsNumber >= 1 && change({ pairs: `${task.name}:${Math.floor(target.valueAsNumber)}` })
              }
            />
          </label>
        ) : (
          <label className="field">
            <span>
              or a file <small>of JSON lines, dropped here</small>
            </span>
            <input type="file" accept=".jsonl,.json" onChange={({ target }) => void take(target.files?.[0])} />
          </label>
        )}
      </div>
      {tasks.data && task && <small>{tasks.data.find(({ name }) => name === task.name)?.what}</small>}
      {found !== null && draft.pairs !== "" && (
        <p className="position-line">
          {count(found.length, "pair")}
          {roles.length > 0 && <span className="muted">, columns: {roles.join(", ")}</span>}
        </p>
      )}
      {(fault ?? failure) && <ErrorNote error={fault ?? failure ?? ""} />}
    </fieldset>
  );
}
