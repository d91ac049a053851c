/** Source runs: list and drop. */

import { api, read } from "./client";
import type { SourceRunList } from "./types";

export function listSourceRuns(signal: AbortSignal): Promise<SourceRunList> {
  return read(api.GET("/v1/patch_source", { signal }));
}

export async function dropSourceRun(run: string): Promise<void> {
  await read(api.DELETE("/v1/patch_source/{run_id}", { params: { path: { run_id: run } } }));
}
