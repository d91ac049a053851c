/** How a run is doing, as far as its files say: a trainer that is killed cannot say so. */

import type { RunRow } from "../api/runs";
import { count, MISSING } from "../widgets/numbers";

/** Nothing for so long, and a trainer that was running may have been killed. */
const SILENT_SECONDS = 3600;

/** Whether a trainer is at it. `now` is in seconds since 1970. */
export function isTraining(run: Pick<RunRow, "status" | "written">, now: number): boolean {
  return run.status === "running" && now - (run.written ?? now) < SILENT_SECONDS;
}

/** `finished`, `running`, or that it is silent though it never said it ended. */
export function statusText(run: Pick<RunRow, "status" | "live" | "written">, now: number): string {
  if (run.status === null) return run.live ? "being written" : MISSING;
  return run.status === "running" && !isTraining(run, now) ? "silent, not ended" : run.status;
}

/** The run to show first: one that is training, else the one that was written to last. */
export function landing<R extends Pick<RunRow, "status" | "written">>(runs: readonly R[], now: number): R | undefined {
  return runs.find((each) => isTraining(each, now)) ?? runs[0];
}

/** What there is to see: `3 runs; my-run is training`. */
export function runsText(runs: readonly Pick<RunRow, "run" | "status" | "written">[], now: number): string {
  if (runs.length === 0) return "No run has been written yet; the page says how to begin one.";
  const training = runs.find((run) => isTraining(run, now));
  return `${count(runs.length, "run")}${training ? `; ${training.run} is training` : ""}`;
}
