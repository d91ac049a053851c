/** Tasks that come with Sonde, and their prompt pairs. */

import { api, read } from "./client";
import type { PromptPair, TaskEntry } from "./types";

export async function listTasks(signal: AbortSignal): Promise<TaskEntry[]> {
  return (await read(api.GET("/v1/tasks", { signal }))).tasks;
}

export async function taskPairs(name: string, n: number, signal: AbortSignal): Promise<PromptPair[]> {
  const params = { path: { name }, query: { n } };
  return (await read(api.GET("/v1/tasks/{name}", { params, signal }))).pairs;
}
