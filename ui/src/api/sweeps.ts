/** Sweeps: start, estimate, look at, stop, export. */

import { api, read } from "./client";
import type { Estimate, ExportFormat, PatchSweepRequest, SweepEntry, SweepHistory, SweepRecord } from "./types";

/** Leave a sweep with the server, which runs it though nobody waits. */
export async function startSweep(body: PatchSweepRequest): Promise<SweepEntry> {
  const asked = api.POST("/v1/patch_sweep", { body, params: { header: { prefer: "respond-async" } } });
  return (await read(asked)) as SweepEntry; // 202 with that header, as the route says
}

export function estimateSweep(body: PatchSweepRequest, signal: AbortSignal): Promise<Estimate> {
  return read(api.POST("/v1/patch_sweep/estimate", { body, signal }));
}

export function sweepHistory(limit: number, signal: AbortSignal): Promise<SweepHistory> {
  return read(api.GET("/v1/patch_sweep", { params: { query: { limit } }, signal }));
}

export async function sweepRecord(id: string, signal?: AbortSignal): Promise<SweepRecord> {
  const options = { params: { path: { sweep_id: id } }, ...(signal && { signal }) };
  const found = await read(api.GET("/v1/patch_sweep/{sweep_id}", options));
  return found as SweepRecord; // the library's mapped type forgets that tuples are tuples
}

export async function cancelSweep(id: string): Promise<void> {
  await read(api.DELETE("/v1/patch_sweep/{sweep_id}", { params: { path: { sweep_id: id } } }));
}

export function eventsAddress(id: string): string {
  return `/v1/patch_sweep/${encodeURIComponent(id)}/events`;
}

/** A finished sweep as a file. */
export function exportSweep(id: string, format: ExportFormat): Promise<Blob> {
  const params = { path: { sweep_id: id }, query: { format } };
  return read<Blob>(api.GET("/v1/patch_sweep/{sweep_id}/export", { params, parseAs: "blob" }));
}
