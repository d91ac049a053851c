/** Source runs: list and drop. */

import { api, read } from "./client";
import type { SourceRunList } from "./types";

/** Runs that somebody stored. What a sweep holds for its own controls goes with it, and is nobody's to use. */
export async function listSourceRuns(signal: AbortSignal): Promise<SourceRunList> {
  const found = await read(api.GET("/v1/patch_source", { signal }));
  return { ...found, runs: found.runs.filter(({ run }) => !isPassing(run)) };
}

export function isPassing(run: string): boolean {
  return /^sweep-[0-9a-f]{12}\.own$/.test(run);
}

export async function dropSourceRun(run: string): Promise<void> {
  await read(api.DELETE("/v1/patch_source/{run_id}", { params: { path: { run_id: run } } }));
}
