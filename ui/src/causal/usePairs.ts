/** Pairs that a draft names, and what the server says of a finished table over pairs. */

import { exportTable } from "../api/sweeps";
import { listTasks, taskPairs } from "../api/tasks";
import type { PromptPair, TaskEntry } from "../api/types";
import { useResource, type Resource } from "../api/useResource";
import { statisticsOf, taskOf, type CellStatistics } from "./pairs";

/** A file that was dropped: it is in nobody's address. */
export interface PairFile {
  readonly name: string;
  readonly pairs: readonly PromptPair[];
}

export function useTasks(): Resource<TaskEntry[]> {
  return useResource("tasks", listTasks);
}

export function usePairs(text: string, file: PairFile | null): { readonly data: readonly PromptPair[] | null; readonly error: Error | null } {
  const task = taskOf(text);
  const found = useResource(task && `pairs/${text}`, (signal) => taskPairs(task?.name ?? "", task?.n ?? 0, signal), { settle: 250 });
  if (text.startsWith("file:")) return { data: file !== null && `file:${file.name}` === text ? file.pairs : null, error: null };
  return found;
}

export function useStatistics(id: string, finished: boolean): Resource<CellStatistics[]> {
  return useResource(finished ? `statistics/${id}` : null, async () => statisticsOf(await (await exportTable(id, "csv")).text()));
}
