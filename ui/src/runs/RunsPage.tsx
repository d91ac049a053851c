/** Runs: what trainers have written. */

import { listRuns, type RunRow } from "../api/runs";
import { useResource } from "../api/useResource";
import type { ServerState } from "../api/useServer";
import { Link } from "../app/Link";
import { useNow } from "../causal/useNow";
import { ErrorNote } from "../widgets/ErrorNote";
import { ago, MISSING, modelName, ranges } from "../widgets/numbers";
import { StatusBar } from "../widgets/StatusBar";
import { NoRuns } from "./NoRuns";
import "./runs.css";

export interface RunsPageProps {
  readonly server: ServerState;
}

const EVERY_MS = 3_000;

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
            <div className="scroll" tabIndex={0} role="region" aria-label="Runs, table">
              <table className="runs-table">
                <thead>
                  <tr>
                    <th scope="col">run</th>
                    <th scope="col">status</th>
                    <th scope="col">model</th>
                    <th scope="col">layers</th>
                    <th scope="col">checkpoint</th>
                    <th scope="col">written</th>
                    <th scope="col">lacks</th>
                  </tr>
                </thead>
                <tbody>
                  {listed.data.runs.map((run) => (
                    <Row key={run.run} run={run} now={now} />
                  ))}
                </tbody>
              </table>
            </div>
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
      <td>{run.status ?? (run.live ? "being written" : MISSING)}</td>
      <td>{run.model === null ? MISSING : modelName(run.model)}</td>
      <td>{run.layers === null ? MISSING : ranges(run.layers)}</td>
      <td>{run.last_checkpoint ?? MISSING}</td>
      <td>{run.written === null ? MISSING : ago(now - run.written)}</td>
      <td>{run.missing.join(", ")}</td>
    </tr>
  );
}
