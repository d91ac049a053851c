/** Sweeps of the past, stored source runs, and what a sweep would cost. */

import { listSourceRuns } from "../api/sources";
import { estimateSweep, estimateTable, sweepHistory, sweepRecord, tableRecord } from "../api/sweeps";
import type { Estimate, PatchSweepRequest, SourceRunList, SweepHistory, SweepRecord, SweepRequest } from "../api/types";
import { useResource, type Resource } from "../api/useResource";

const HISTORY_MS = 4_000;
const SOURCES_MS = 4_000;
const ESTIMATE_MS = 400;

export function useHistory(limit: number): Resource<SweepHistory> {
  return useResource(`history/${limit}`, (signal) => sweepHistory(limit, signal), { every: HISTORY_MS });
}

export function useSourceRuns(): Resource<SourceRunList> {
  return useResource("sources", listSourceRuns, { every: SOURCES_MS });
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
