/** Runs: which there are, and what is known of one as a whole. */

import { api, read } from "./client";
import type { components } from "./schema.generated";

type Schemas = components["schemas"];

export type RunRow = Schemas["RunRow"];
export type RunList = Schemas["RunList"];
export type StreamHealth = Schemas["StreamHealth"];
export type GatewayHealth = Schemas["GatewayHealth"];
export type CheckpointList = Schemas["CheckpointList"];

export function listRuns(signal: AbortSignal): Promise<RunList> {
  return read(api.GET("/api/runs", { signal }));
}

export function listCheckpoints(run: string, signal: AbortSignal): Promise<CheckpointList> {
  return read(api.GET("/api/p5/runs", { params: { query: { run } }, signal }));
}

/** The page of a run as a file that needs no server. */
export function runPage(run: string): Promise<Blob> {
  return read(api.GET("/api/p5/page", { params: { query: { run } }, parseAs: "blob" }));
}

export function gatewayHealth(signal: AbortSignal): Promise<GatewayHealth> {
  return read(api.GET("/api/p5/health", { signal }));
}
