/** Causal: which activations carry the answer, found by writing them into another prompt. */

import { useEffect, useMemo, useState } from "react";
import { asError } from "../api/errors";
import { startSweep } from "../api/sweeps";
import type { Capabilities } from "../api/types";
import type { ServerState } from "../api/useServer";
import { ErrorBoundary } from "../app/ErrorBoundary";
import { navigate, queryOf, useAddress } from "../app/location";
import type { Theme } from "../widgets/colors";
import { EmptyState } from "../widgets/EmptyState";
import { StatusBar } from "../widgets/StatusBar";
import { alignPrompts } from "./alignment";
import { CompareResult } from "./CompareResult";
import { draftOfRecord, prepare, type Draft } from "./draft";
import { GradeFields } from "./GradeFields";
import { History } from "./History";
import { PromptFields } from "./PromptFields";
import { SourceRuns } from "./SourceRuns";
import { StartBar } from "./StartBar";
import { SweepResult } from "./SweepResult";
import { useDraft } from "./useDraft";
import { useEstimate, useSourceRuns } from "./usePast";
import { useBaselines, useNextTokens, useTokens } from "./usePrompts";
import { useSweep } from "./useSweep";
import { WhereFields } from "./WhereFields";
import "./causal.css";

export interface CausalPageProps {
  /** The sweep in the address. */
  readonly sweep: string | null;
  readonly server: ServerState;
  readonly theme: Theme;
}

export default function CausalPage({ sweep, server, theme }: CausalPageProps) {
  if (server.capabilities)
    return <Causal sweep={sweep} server={server} capabilities={server.capabilities} theme={theme} />;
  return (
    <>
      <main className="page" id="main">
        <h1>Causal</h1>
        {server.withoutModel ? (
          <EmptyState title="This server has no model">
            <p>
              It only shows runs. To intervene, start one with a model: <code>sonde serve --model smollm2</code>.
            </p>
          </EmptyState>
        ) : (
          <EmptyState
            title={
              server.connection === "disconnected"
                ? "The server does not answer"
                : "Asking the server what it has loaded"
            }
          />
        )}
      </main>
      <StatusBar connection={server.connection} />
    </>
  );
}

function Causal({ sweep: id, server, capabilities, theme }: CausalPageProps & { readonly capabilities: Capabilities }) {
  const other = queryOf(useAddress()).get("with");
  const sweep = useSweep(id);
  const { draft, change, became } = useDraft(id, sweep.record);
  const clean = useTokens(draft.clean);
  const corrupt = useTokens(draft.corrupt);
  const baselines = useBaselines(draft);
  const runs = useSourceRuns();
  const [starting, setStarting] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  const aligned = useMemo(
    () => clean.data && corrupt.data && alignPrompts(ids(clean.data), ids(corrupt.data), draft.pairing),
    [clean.data, corrupt.data, draft.pairing],
  );
  const prepared = prepare(draft, capabilities.model.n_layers, "new");
  const estimate = useEstimate(prepared.request);
  const { reload: reloadRuns } = runs;
  useEffect(() => {
    if (sweep.stream === "ended") reloadRuns(); // what it captured is gone, or kept
  }, [sweep.stream, reloadRuns]);
  const running = id !== null && sweep.stream !== "ended";

  const past = sweep.record && draftOfRecord(sweep.record);
  const start = async (wanted: Draft) => {
    const { request } = prepare(wanted, capabilities.model.n_layers, `ui-${crypto.randomUUID().slice(0, 8)}`);
    if (request === null) return;
    setStarting(true);
    setFailure(null);
    try {
      const entry = await startSweep(request);
      became(entry.id, wanted);
      navigate(`/causal/${entry.id}`);
    } catch (error) {
      setFailure(asError(error));
    }
    setStarting(false);
  };

  return (
    <>
      <main className="page causal" id="main">
        <form
          className="setup"
          aria-label="Sweep to run"
          onSubmit={(event) => {
            event.preventDefault();
            void start(draft);
          }}
        >
          <PromptFields draft={draft} change={change} clean={clean} corrupt={corrupt} aligned={aligned} />
          <Grading draft={draft} change={change} baselines={baselines} />
          <WhereFields
            draft={draft}
            change={change}
            capabilities={capabilities}
            aligned={aligned}
            runs={runs.data?.runs ?? []}
          />
          <StartBar
            problem={prepared.problem}
            estimate={estimate}
            saidAbove={baselines.error !== null}
            starting={starting}
            failure={failure}
            connected={server.connection === "connected"}
          />
        </form>
        <div className="shown" data-empty={id === null}>
          <ErrorBoundary part="the result" key={id}>
            {id === null ? (
              <Invitation />
            ) : other !== null && sweep.record && sweep.view.summary ? (
              <CompareResult record={sweep.record} summary={sweep.view.summary} other={other} theme={theme} />
            ) : (
              <SweepResult id={id} sweep={sweep} theme={theme} onAgain={past && (() => void start(past))} />
            )}
          </ErrorBoundary>
        </div>
        <div className="past">
          <History shown={id} stream={sweep.stream} comparable={sweep.view.summary !== null} comparedWith={other} />
          <SourceRuns runs={runs} onUse={(run) => change({ run })} />
        </div>
      </main>
      <StatusBar
        connection={running && sweep.stream === "disconnected" ? "disconnected" : server.connection}
        perSecond={sweep.view.summary?.timing.cells_per_second ?? (running ? sweep.perSecond : null)}
        noun="cells"
      >
        <span>{queueText(capabilities)}</span>
      </StatusBar>
    </>
  );
}

function Grading(props: Omit<Parameters<typeof GradeFields>[0], "afterClean" | "afterCorrupt">) {
  const afterClean = useNextTokens(props.draft.clean);
  const afterCorrupt = useNextTokens(props.draft.corrupt);
  return <GradeFields {...props} afterClean={afterClean} afterCorrupt={afterCorrupt} />;
}

function Invitation() {
  return (
    <EmptyState title="Which activations carry the answer?">
      <p>
        A sweep writes one activation of the clean prompt into the corrupt one at every layer and position, one at a
        time, and measures how much of the clean answer comes back. The prompts at the side are ready to go: press{" "}
        <b>Start sweep</b>.
      </p>
    </EmptyState>
  );
}

function queueText({ queues }: Capabilities): string {
  const { active, waiting } = queues.sweep;
  if (active === 0 && waiting === 0) return "no sweep under way";
  return `${active} ${active === 1 ? "sweep" : "sweeps"} under way, ${waiting} waiting`;
}

function ids(tokens: readonly { readonly id: number }[]): number[] {
  return tokens.map((token) => token.id);
}
