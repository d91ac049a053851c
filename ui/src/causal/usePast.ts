/** Sweeps of the past, stored source runs, and what a sweep would cost. */

import { useMemo } from "react";
import { listRuns, type RunRow } from "../api/runs";
import { listSourceRuns } from "../api/sources";
import { estimateSweep, estimateTable, sweepHistory, sweepRecord, tableRecord, type HistoryQuestion } from "../api/sweeps";
import type { Estimate, PatchSweepRequest, SourceRunList, SweepHistory, SweepRecord, SweepRequest } from "../api/types";
import { useResource, type Resource } from "../api/useResource";
import { useKept } from "../widgets/useKept";

const HISTORY_MS = 4_000;
const SEARCH_MS = 150;
const SOURCES_MS = 4_000;
const RUNS_MS = 30_000;
const ESTIMATE_MS = 400;

/** The list stays while another is asked for, so that nothing jumps at a key that is pressed. */
export function useHistory(asked: HistoryQuestion): Resource<SweepHistory> {
  const options = { every: HISTORY_MS, settle: SEARCH_MS };
  const found = useResource(JSON.stringify(asked), (signal) => sweepHistory(asked, signal), options);
  return { ...found, data: useKept(found.data, "history") };
}

export function useSourceRuns(): Resource<SourceRunList> {
  return useResource("sources", listSourceRuns, { every: SOURCES_MS });
}

/** Runs that have a checkpoint to be swept. */
export function useTrainedRuns(): readonly RunRow[] {
  const { data } = useResource("trained runs", listRuns, { every: RUNS_MS });
  return useMemo(() => (data?.runs ?? []).filter(({ last_checkpoint: last }) => last !== null), [data]);
}

export function useRecord(id: string | null): Resource<SweepRecord> {
  return useResource(id, (signal) => sweepRecord(id ?? "", signal));
}

export function useTable(id: string | null): Resource<SweepRecord> {
  return useResource(id === null ? null : `table/${id}`, (signal) => tableRecord(id ?? "", signal));
}

/** What either kind of sweep would cost. */
export type Wanted =
  | { readonly kind: "classic"; readonly request: PatchSweepRequest }
  | { readonly kind: "table"; readonly request: SweepRequest };

export function useEstimate(wanted: Wanted | null): Resource<Estimate> {
  const key = wanted === null ? null : JSON.stringify({ ...wanted.request, source_run: "" });
  const ask = (signal: AbortSignal) => {
    if (wanted?.kind === "table") return estimateTable(wanted.request, signal);
    return estimateSweep(wanted?.request ?? { prompt: "", layers: [] }, signal);
  };
  return useResource(key, ask, { settle: ESTIMATE_MS });
}
