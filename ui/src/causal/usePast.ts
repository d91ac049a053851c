/** Sweeps of the past, stored source runs, and what a sweep would cost. */

import { listSourceRuns } from "../api/sources";
import { estimateSweep, sweepHistory, sweepRecord } from "../api/sweeps";
import type { Estimate, PatchSweepRequest, SourceRunList, SweepHistory, SweepRecord } from "../api/types";
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

export function useEstimate(request: PatchSweepRequest | null): Resource<Estimate> {
  const key = request === null ? null : JSON.stringify({ ...request, source_run: "" });
  return useResource(key, (signal) => estimateSweep(request ?? { prompt: "", layers: [] }, signal), {
    settle: ESTIMATE_MS,
  });
}
