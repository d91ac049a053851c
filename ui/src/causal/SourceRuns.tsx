/** What the server keeps for patching: how large, how old, how long it is safe; use it or drop it. */

import { useState } from "react";
import { asError } from "../api/errors";
import { dropSourceRun } from "../api/sources";
import type { SourceRun, SourceRunList } from "../api/types";
import type { Resource } from "../api/useResource";
import { EmptyState } from "../widgets/EmptyState";
import { ErrorNote } from "../widgets/ErrorNote";
import { ListTable, type Column } from "../widgets/ListTable";
import { ago, count, duration, size } from "../widgets/numbers";

const COLUMNS: readonly Column[] = [
  { name: "Run" },
  { name: "Holds", about: "Activations at these hooks and layers, of every token of the prompt." },
  { name: "Size" },
  { name: "Age" },
  { name: "Lease", about: "How long it is safe from eviction; a sweep that uses it renews this." },
  { name: "Use or drop", unseen: true },
];

interface SourceRunsProps {
  readonly runs: Resource<SourceRunList>;
  readonly onUse: (run: string) => void;
}

export function SourceRuns({ runs, onUse }: SourceRunsProps) {
  const [failure, setFailure] = useState<Error | null>(null);
  const { data } = runs;
  const drop = async (run: string) => {
    setFailure(null);
    try {
      await dropSourceRun(run);
    } catch (error) {
      setFailure(asError(error));
    }
    runs.reload();
  };
  return (
    <section className="sources" aria-labelledby="sources-title">
      <h2 id="sources-title">Source runs</h2>
      {runs.error && <ErrorNote error={runs.error} />}
      {failure && <ErrorNote error={failure} />}
      {data && (
        <p className="muted">
          {size(data.used_bytes)} of {size(data.budget_bytes)} in use
        </p>
      )}
      {data?.runs.length === 0 && (
        <EmptyState title="None is stored">
          <p>A sweep captures its own and forgets it, unless “keep it afterwards” is chosen.</p>
        </EmptyState>
      )}
      {data && data.runs.length > 0 && (
        <ListTable label="Stored source runs" columns={COLUMNS}>
          {data.runs.map((run) => (
            <Row key={run.generation} run={run} onUse={onUse} onDrop={(name) => void drop(name)} />
          ))}
        </ListTable>
      )}
    </section>
  );
}

interface RowProps {
  readonly run: SourceRun;
  readonly onUse: (run: string) => void;
  readonly onDrop: (run: string) => void;
}

function Row({ run, onUse, onDrop }: RowProps) {
  return (
    <tr>
      <td>
        <code>{run.run}</code>
      </td>
      <td>
        {count(run.hooks.length, "hook")}, {count(run.layers.length, "layer")}, {count(run.n_tokens, "token")}
      </td>
      <td>{size(run.bytes)}</td>
      <td>{ago(run.age_seconds)}</td>
      <td>{run.lease_seconds === null ? "none" : duration(run.lease_seconds)}</td>
      <td className="row-actions">
        <button type="button" onClick={() => onUse(run.run)}>
          Use
        </button>
        <button type="button" aria-label={`Drop ${run.run}`} onClick={() => onDrop(run.run)}>
          Drop
        </button>
      </td>
    </tr>
  );
}
