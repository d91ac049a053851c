/** Sweeps: start, estimate, look at, stop, export. */

import { wholeTokens } from "../widgets/tokens";
import { api, read } from "./client";
import type {
  AttentionTable,
  Estimate,
  ExportFormat,
  PatchSweepRequest,
  Remarks,
  SweepEntry,
  SweepHistory,
  SweepRecord,
  SweepRequest,
} from "./types";

/** Leave a sweep with the server, which runs it though nobody waits. */
export async function startSweep(body: PatchSweepRequest): Promise<SweepEntry> {
  const asked = api.POST("/v1/patch_sweep", { body, params: { header: { prefer: "respond-async" } } });
  return (await read(asked)) as SweepEntry; // 202 with that header, as the route says
}

export function estimateSweep(body: PatchSweepRequest, signal: AbortSignal): Promise<Estimate> {
  return read(api.POST("/v1/patch_sweep/estimate", { body, signal }));
}

export interface HistoryQuestion {
  readonly limit: number;
  /** Words that all have to be in a sweep's name, note, id or request. */
  readonly search?: string;
  readonly starred?: boolean;
}

/** Sweeps of both kinds. */
export function sweepHistory(query: HistoryQuestion, signal: AbortSignal): Promise<SweepHistory> {
  return read(api.GET("/v1/sweeps", { params: { query }, signal }));
}

/** Name a sweep, note something, give or take its star; what is left out stays. */
export function remarkSweep(id: string, body: Remarks): Promise<SweepEntry> {
  return read(api.PATCH("/v1/history/{sweep_id}", { params: { path: { sweep_id: id } }, body }));
}

/** Delete a sweep that has ended, with all it found. */
export async function forgetSweep(id: string): Promise<void> {
  await read(api.DELETE("/v1/history/{sweep_id}", { params: { path: { sweep_id: id } } }));
}

/** A sweep that is a table: over heads, features, or whatever else its axes are. */
export async function tableRecord(id: string, signal?: AbortSignal): Promise<SweepRecord> {
  const options = { params: { path: { sweep_id: id } }, ...(signal && { signal }) };
  const found = await read(api.GET("/v1/sweeps/{sweep_id}", options));
  return found as SweepRecord;
}

export async function sweepRecord(id: string, signal?: AbortSignal): Promise<SweepRecord> {
  const options = { params: { path: { sweep_id: id } }, ...(signal && { signal }) };
  const found = await read(api.GET("/v1/patch_sweep/{sweep_id}", options));
  return found as SweepRecord; // the library's mapped type forgets that tuples are tuples
}

export async function cancelSweep(id: string): Promise<void> {
  await read(api.DELETE("/v1/patch_sweep/{sweep_id}", { params: { path: { sweep_id: id } } }));
}

export async function startTable(body: SweepRequest): Promise<SweepEntry> {
  const asked = api.POST("/v1/sweeps", { body, params: { header: { prefer: "respond-async" } } });
  const entry: unknown = await read(asked); // 202 with that header, as the route says
  return entry as SweepEntry;
}

export function estimateTable(body: SweepRequest, signal: AbortSignal): Promise<Estimate> {
  return read(api.POST("/v1/sweeps/estimate", { body, signal }));
}

export async function cancelTable(id: string): Promise<void> {
  await read(api.DELETE("/v1/sweeps/{sweep_id}", { params: { path: { sweep_id: id } } }));
}

export function tableEventsAddress(id: string): string {
  return `/v1/sweeps/${encodeURIComponent(id)}/events`;
}

/** A finished table as a file; over pairs its CSV has the statistics. */
export function exportTable(id: string, format: ExportFormat): Promise<Blob> {
  const params = { path: { sweep_id: id }, query: { format } };
  return read<Blob>(api.GET("/v1/sweeps/{sweep_id}/export", { params, parseAs: "blob" }));
}

export interface AttentionQuestion {
  readonly prompt: string;
  readonly layers?: number[];
}

/** What heads attend to. */
export async function attentionOf(asked: AttentionQuestion, signal: AbortSignal): Promise<AttentionTable> {
  const found = await read(api.POST("/v1/attention", { body: { ...asked, seed: 0, scores: false }, signal }));
  return { ...found, tokens: wholeTokens(found.tokens, asked.prompt) };
}

/** How much heads look at the token before, at the same token, and at what followed it: on random tokens, twice over. */
export function headScores(repeated: number, signal: AbortSignal): Promise<AttentionTable> {
  return read(api.POST("/v1/attention", { body: { repeated, seed: 0, scores: true }, signal }));
}

export function eventsAddress(id: string): string {
  return `/v1/patch_sweep/${encodeURIComponent(id)}/events`;
}

/** A finished sweep as a file. */
export function exportSweep(id: string, format: ExportFormat): Promise<Blob> {
  const params = { path: { sweep_id: id }, query: { format } };
  return read<Blob>(api.GET("/v1/patch_sweep/{sweep_id}/export", { params, parseAs: "blob" }));
}
