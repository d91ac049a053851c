/** Runs: which there are, how each is doing, and several of them over one another. */

import { Suspense } from "react";
import { listRuns, type RunRow } from "../api/runs";
import { useResource } from "../api/useResource";
import type { ServerState } from "../api/useServer";
import { lazily } from "../app/lazily";
import { Link } from "../app/Link";
import { currentAddress, navigate, queryOf, useAddress, withQuery } from "../app/location";
import type { Theme } from "../widgets/colors";
import { ErrorNote } from "../widgets/ErrorNote";
import { ListTable, type Column } from "../widgets/ListTable";
import { ago, duration, grouped, MISSING, modelName, ranges } from "../widgets/numbers";
import { StatusBar } from "../widgets/StatusBar";
import { useNow } from "../widgets/useNow";
import { Ended } from "./Ended";
import { NoRuns } from "./NoRuns";
import { Sparkline } from "./Sparkline";
import { statusText } from "./status";
import "../live/live.css";

interface RunsPageProps {
  readonly server: ServerState;
  readonly theme: Theme;
}

const EVERY_MS = 3_000;
const CompareRuns = lazily(() => import("./CompareRuns"));

const COLUMNS: readonly Column[] = [
  { name: "overlay", about: "Draw it below, over the others that are chosen." },
  { name: "run" },
  { name: "state", about: "A trainer that was killed is found by its process, or by its silence." },
  { name: "reward", about: "The mean reward from the first step to the last; the number is the last." },
  { name: "steps" },
  { name: "duration", about: "From the start to the end, or to the last sign of life." },
  { name: "seed" },
  { name: "preset" },
  { name: "model" },
  { name: "layers", about: "Layers whose features are recorded." },
  { name: "checkpoint", about: "The step of the newest one." },
  { name: "written", about: "When a record was last written." },
  { name: "lacks", about: "Companion files that are not there: the panels that need them are empty." },
];

export default function RunsPage({ server, theme }: RunsPageProps) {
  const listed = useResource("runs", listRuns, { every: EVERY_MS });
  const now = useNow() / 1000;
  const chosen = (queryOf(useAddress()).get("compare") ?? "").split(",").filter((each) => each !== "");
  const runs = listed.data?.runs ?? [];
  const known = chosen.filter((name) => runs.some(({ run }) => run === name));
  const choose = (run: string, wanted: boolean) => {
    const next = wanted ? [...known, run] : known.filter((each) => each !== run);
    navigate(withQuery(currentAddress(), { compare: next.length === 0 ? null : next.join(",") }), { replace: true });
  };
  return (
    <>
      <main className="page live" id="main" aria-busy={listed.loading}>
        <h1>Runs</h1>
        {listed.error && <ErrorNote error={listed.error} onRetry={listed.reload} />}
        {listed.data?.count === 0 && <NoRuns list={listed.data} />}
        {listed.data && runs.length > 0 && (
          <>
            {runs.filter(({ unended }) => unended).map((run) => (
              <section key={run.run} aria-label={`How ${run.run} ended`}>
                <b>{run.run}</b>
                <Ended run={run} />
              </section>
            ))}
            <ListTable label="Runs" columns={COLUMNS}>
              {runs.map((run) => (
                <Row key={run.run} run={run} now={now} chosen={known.includes(run.run)} onChoose={choose} />
              ))}
            </ListTable>
            <p className="muted">
              In <code>{listed.data.directory}</code>, the one written to last first.
            </p>
            {known.length > 0 && (
              <Suspense fallback={<p className="muted">Asking for the curves</p>}>
                <CompareRuns runs={known} theme={theme} />
              </Suspense>
            )}
          </>
        )}
      </main>
      <StatusBar connection={server.connection} />
    </>
  );
}

interface RowProps {
  readonly run: RunRow;
  readonly now: number;
  readonly chosen: boolean;
  readonly onChoose: (run: string, wanted: boolean) => void;
}

function Row({ run, now, chosen, onChoose }: RowProps) {
  const steps = run.last_step == null ? MISSING : grouped(run.last_step);
  return (
    <tr>
      <td>
        <label className="tick">
          <input type="checkbox" checked={chosen} onChange={({ target }) => onChoose(run.run, target.checked)} />
          <span className="unseen">Overlay {run.run}</span>
        </label>
      </td>
      <th scope="row">
        <Link href={`/live/${encodeURIComponent(run.run)}`}>{run.run}</Link>
      </th>
      <td>{statusText(run)}</td>
      <td>
        <Sparkline values={run.rewards ?? []} what={`Reward of ${run.run}`} />
      </td>
      <td>{run.max_steps == null ? steps : `${steps} of ${grouped(run.max_steps)}`}</td>
      <td>{run.seconds == null ? MISSING : duration(run.seconds)}</td>
      <td>{run.seed ?? MISSING}</td>
      <td>{run.preset ?? MISSING}</td>
      <td>{run.model === null ? MISSING : modelName(run.model)}</td>
      <td>{run.layers === null ? MISSING : ranges(run.layers)}</td>
      <td>{run.last_checkpoint === null ? MISSING : grouped(run.last_checkpoint)}</td>
      <td>{run.written === null ? MISSING : ago(now - run.written)}</td>
      <td className="prose">{run.missing.join(", ")}</td>
    </tr>
  );
}
