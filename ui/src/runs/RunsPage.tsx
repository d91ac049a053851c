/** Runs: what trainers have written. */

import { listRuns, type RunRow } from "../api/runs";
import { useResource } from "../api/useResource";
import type { ServerState } from "../api/useServer";
import { Link } from "../app/Link";
import { ErrorNote } from "../widgets/ErrorNote";
import { ListTable, type Column } from "../widgets/ListTable";
import { ago, MISSING, modelName, ranges } from "../widgets/numbers";
import { StatusBar } from "../widgets/StatusBar";
import { useNow } from "../widgets/useNow";
import { NoRuns } from "./NoRuns";
import { statusText } from "./status";

export interface RunsPageProps {
  readonly server: ServerState;
}

const EVERY_MS = 3_000;

const COLUMNS: readonly Column[] = [
  { name: "run" },
  { name: "status", about: "As the trainer said. One that is killed cannot say so: then it is silent, and not ended." },
  { name: "policy", about: "The model that is trained." },
  { name: "layers", about: "Layers whose features are recorded." },
  { name: "checkpoint", about: "The step of the newest one." },
  { name: "written", about: "When a record was last written." },
  { name: "lacks", about: "Companion files that are not there: the panels that need them are empty." },
];

export default function RunsPage({ server }: RunsPageProps) {
  const listed = useResource("runs", listRuns, { every: EVERY_MS });
  const now = useNow() / 1000;
  return (
    <>
      <main className="page" id="main" aria-busy={listed.loading}>
        <h1>Runs</h1>
        {listed.error && <ErrorNote error={listed.error} onRetry={listed.reload} />}
        {listed.data?.count === 0 && <NoRuns list={listed.data} />}
        {listed.data && listed.data.count > 0 && (
          <>
            <ListTable label="Runs" columns={COLUMNS}>
              {listed.data.runs.map((run) => (
                <Row key={run.run} run={run} now={now} />
              ))}
            </ListTable>
            <p className="muted">
              In <code>{listed.data.directory}</code>, the one written to last first.
            </p>
          </>
        )}
      </main>
      <StatusBar connection={server.connection} />
    </>
  );
}

function Row({ run, now }: { readonly run: RunRow; readonly now: number }) {
  return (
    <tr>
      <th scope="row">
        <Link href={`/live/${encodeURIComponent(run.run)}`}>{run.run}</Link>
      </th>
      <td>{statusText(run, now)}</td>
      <td>{run.model === null ? MISSING : modelName(run.model)}</td>
      <td>{run.layers === null ? MISSING : ranges(run.layers)}</td>
      <td>{run.last_checkpoint ?? MISSING}</td>
      <td>{run.written === null ? MISSING : ago(now - run.written)}</td>
      <td className="prose">{run.missing.join(", ")}</td>
    </tr>
  );
}
