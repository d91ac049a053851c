/** Live: what is active in a model while it trains. */

import { Fragment, useState } from "react";
import { useResource } from "../api/useResource";
import { listRuns } from "../api/runs";
import type { ServerState } from "../api/useServer";
import { Link } from "../app/Link";
import type { Theme } from "../widgets/colors";
import { EmptyState } from "../widgets/EmptyState";
import { ErrorNote } from "../widgets/ErrorNote";
import { StatusBar } from "../widgets/StatusBar";
import { NoRuns } from "../runs/NoRuns";
import { landing } from "../runs/status";
import { RunView } from "./RunView";
import "./live.css";

export interface LivePageProps {
  /** The run in the address; null for the one that is training, or was written to last. */
  readonly run: string | null;
  readonly server: ServerState;
  readonly theme: Theme;
}

const EVERY_MS = 3_000;

export default function LivePage({ run, server, theme }: LivePageProps) {
  const listed = useResource("runs", listRuns, { every: EVERY_MS });
  const runs = listed.data?.runs ?? [];
  const [landed, setLanded] = useState<string | null>(null);
  const wanted = run ?? landed;
  const shown = runs.find((each) => each.run === wanted) ?? (run === null ? landing(runs) : undefined);
  if (run === null && shown && landed !== shown.run) setLanded(shown.run); // stay with it, whichever run is written next
  if (shown) return <RunView key={shown.run} run={shown} runs={runs} server={server} theme={theme} />;
  return (
    <>
      <main className="page live" id="main" aria-busy={listed.loading}>
        <h1>Live</h1>
        {listed.error && !listed.data && <ErrorNote error={listed.error} onRetry={listed.reload} />}
        {listed.data && run !== null && (
          <EmptyState title={`There is no run ${run}`}>
            <p>
              {runs.length === 0
                ? "There are no runs at all."
                : "It was renamed or deleted, or never there. There are:"}
              {runs.map((each) => (
                <Fragment key={each.run}>
                  {" "}
                  <Link href={`/live/${encodeURIComponent(each.run)}`}>{each.run}</Link>
                </Fragment>
              ))}
            </p>
          </EmptyState>
        )}
        {listed.data && run === null && <NoRuns list={listed.data} />}
      </main>
      <StatusBar connection={server.connection} lag={null} perSecond={null} />
    </>
  );
}
