/** How a run is doing, as far as its files say: a trainer that is killed cannot say so. */

import type { RunRow } from "../api/runs";
import { count, grouped, MISSING } from "../widgets/numbers";

/** Whether a trainer is at it. The server knows: by the writer's process where it is its machine, else by silence. */
export function isTraining(run: Pick<RunRow, "status" | "unended">): boolean {
  return run.status === "running" && !run.unended;
}

/** `finished`, `running`, or that it stopped though it never said it ended. */
export function statusText(run: Pick<RunRow, "status" | "live" | "unended">): string {
  if (run.unended) return "stopped without ending";
  return run.status ?? (run.live ? "being written" : MISSING);
}

/** What a run that was killed had done; null of all others. */
export function endingText({ unended }: Pick<RunRow, "unended">): string | null {
  if (!unended) return null;
  const at = unended.step === null ? "before its first step" : `after step ${grouped(unended.step)}`;
  return `Stopped ${at} without ending: ${unended.why}.`;
}

/** Until the last step, at the pace of the last ones; null where that is not known, or the run is over. */
export function secondsLeft(run: RunRow): number | null {
  const { last_step: done, max_steps: all, step_seconds: pace } = run;
  if (!isTraining(run) || done == null || all == null || pace == null) return null;
  return Math.max(0, all - done) * pace;
}

/** The run to show first: one that is training, else the one that was written to last. */
export function landing<R extends Pick<RunRow, "status" | "unended">>(runs: readonly R[]): R | undefined {
  return runs.find(isTraining) ?? runs[0];
}

/** What there is to see: `3 runs; my-run is training`. */
export function runsText(runs: readonly Pick<RunRow, "run" | "status" | "unended">[]): string {
  if (runs.length === 0) return "No run has been written yet; the page says how to begin one.";
  const training = runs.find(isTraining);
  return `${count(runs.length, "run")}${training ? `; ${training.run} is training` : ""}`;
}
