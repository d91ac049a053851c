/** Causal: which activations carry the answer, found by writing them into another prompt. */

import { useCallback, useEffect, useMemo, useState } from "react";
import { startSweep, startTable } from "../api/sweeps";
import type { Capabilities } from "../api/types";
import type { ServerState } from "../api/useServer";
import { ErrorBoundary } from "../app/ErrorBoundary";
import { navigate, queryOf, useAddress } from "../app/location";
import type { Theme } from "../widgets/colors";
import { EmptyState } from "../widgets/EmptyState";
import { StatusBar } from "../widgets/StatusBar";
import { alignPrompts } from "./alignment";
import { CompareResult } from "./CompareResult";
import { doubtsOf } from "./doubts";
import { draftOfRecord, prepare, type Draft } from "./draft";
import { GradeFields } from "./GradeFields";
import { History } from "./History";
import { PairFields } from "./PairFields";
import { PromptFields } from "./PromptFields";
import { SourceRuns } from "./SourceRuns";
import { StartBar } from "./StartBar";
import { SweepResult } from "./SweepResult";
import { isTable, prepareTable } from "./tableDraft";
import { TableResult } from "./TableResult";
import { useCtrlEnter } from "./useCtrlEnter";
import { useDraft } from "./useDraft";
import { usePairs, type PairFile } from "./usePairs";
import { useEstimate, useSourceRuns, useTrainedRuns } from "./usePast";
import { useBaselines, useNextTokens, useTokens } from "./usePrompts";
import { useStart } from "./useStart";
import { useSweep } from "./useSweep";
import { useTableSweep } from "./useTableSweep";
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

function Causal({ sweep: address, server, capabilities, theme }: CausalPageProps & { readonly capabilities: Capabilities }) {
  const query = queryOf(useAddress());
  const other = query.get("with");
  const table = query.get("as") === "table" ? address : null;
  const id = table === null ? address : null;
  const sweep = useSweep(id);
  const tableSweep = useTableSweep(table);
  const { draft, change, became } = useDraft(address, sweep.record ?? tableSweep.record);
  const [file, setFile] = useState<PairFile | null>(null);
  const pairs = usePairs(draft.pairs, file);
  const clean = useTokens(draft.clean);
  const corrupt = useTokens(draft.corrupt);
  const baselines = useBaselines(draft);
  const afterClean = useNextTokens(draft.clean);
  const afterCorrupt = useNextTokens(draft.corrupt);
  const runs = useSourceRuns();
  const trained = useTrainedRuns();
  const aligned = useMemo(
    () => clean.data && corrupt.data && alignPrompts(ids(clean.data), ids(corrupt.data), draft.pairing),
    [clean.data, corrupt.data, draft.pairing],
  );
  const nLayers = capabilities.model.n_layers;
  const wantedOf = useCallback(
    (wanted: Draft, run: string) =>
      isTable(wanted)
        ? { kind: "table" as const, ...prepareTable(wanted, nLayers, pairs.data) }
        : { kind: "classic" as const, ...prepare(wanted, nLayers, run) },
    [nLayers, pairs.data],
  );
  const prepared = wantedOf(draft, "new");
  const estimate = useEstimate(prepared.problem === null ? (prepared) : null);
  const { reload: reloadRuns } = runs;
  useEffect(() => {
    if (sweep.stream === "ended") reloadRuns(); // what it captured is gone, or kept
  }, [sweep.stream, reloadRuns]);
  const shown = table === null ? sweep : { ...tableSweep, perSecond: null };
  const running = address !== null && shown.stream !== "ended";

  const record = table === null ? sweep.record : tableSweep.record;
  const comparable = record?.summary || record?.table ? record : null;
  const past = sweep.record && draftOfRecord(sweep.record);
  const start = useCallback(
    async (wanted: Draft) => {
      const made = wantedOf(wanted, `ui-${crypto.randomUUID().slice(0, 8)}`);
      if (made.problem !== null) return;
      const entry = await (made.kind === "table" ? startTable(made.request) : startSweep(made.request));
      became(entry.id, wanted);
      navigate(`/causal/${entry.id}${made.kind === "table" ? "?as=table" : ""}`);
    },
    [became, wantedOf],
  );
  const ofPairs = draft.pairs !== "";
  const doubts = doubtsOf(draft, { baselines: baselines.data, afterClean: afterClean.data, estimate: estimate.data });
  const startShown = useCallback(() => start(draft), [start, draft]);
  const { asking, failure, press, attempt } = useStart({
    key: JSON.stringify(draft),
    ready: prepared.problem === null && server.connection === "connected",
    checking: baselines.loading || estimate.loading || afterClean.loading,
    doubtful: doubts.length > 0,
    start: startShown,
  });
  useCtrlEnter(press);

  return (
    <>
      <main className="page causal" id="main">
        {address === null && <h1 className="unseen">Causal</h1>}
        <form
          className="setup"
          aria-label="Sweep to run"
          onSubmit={(event) => {
            event.preventDefault();
            press();
          }}
        >
          <PairFields draft={draft} change={change} onFile={setFile} failure={pairs.error} found={pairs.data} />
          {!ofPairs && <PromptFields draft={draft} change={change} clean={clean} corrupt={corrupt} aligned={aligned} />}
          <GradeFields
            draft={draft}
            change={change}
            afterClean={afterClean}
            afterCorrupt={afterCorrupt}
            baselines={baselines}
          />
          <WhereFields
            draft={draft}
            change={change}
            capabilities={capabilities}
            aligned={aligned}
            runs={runs.data?.runs ?? []}
            trained={trained}
          />
          <StartBar
            problem={prepared.problem}
            estimate={estimate}
            scored={draft.over === "attribution"}
            saidAbove={baselines.error !== null}
            doubts={doubts}
            asking={asking}
            failure={failure}
            connected={server.connection === "connected"}
          />
        </form>
        <div className="shown" data-empty={address === null}>
          <ErrorBoundary part="the result" key={address}>
            {other !== null && comparable ? (
              <CompareResult record={comparable} other={other} heads={capabilities.model.heads ?? null} theme={theme} />
            ) : table !== null ? (
              <TableResult id={table} sweep={tableSweep} model={capabilities.model} theme={theme} />
            ) : id === null ? (
              <Invitation />
            ) : (
              <SweepResult id={id} sweep={sweep} theme={theme} onAgain={past && (() => void attempt(() => start(past)))} />
            )}
          </ErrorBoundary>
        </div>
        <div className="past">
          <History shown={address} stream={table === null ? sweep.stream : tableSweep.stream} comparable={comparable !== null} comparedWith={other} />
          <SourceRuns runs={runs} onUse={(run) => change({ run })} />
        </div>
      </main>
      <StatusBar
        connection={running && shown.stream === "disconnected" ? "disconnected" : server.connection}
        perSecond={sweep.view.summary?.timing.cells_per_second ?? (running ? sweep.perSecond : null)}
        noun="cells"
      >
        <span>{queueText(capabilities)}</span>
      </StatusBar>
    </>
  );
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
