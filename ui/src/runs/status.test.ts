import type { RunRow } from "../api/runs";
import { expect, it } from "vitest";
import { endingText, isTraining, landing, runsText, secondsLeft, statusText } from "./status";

const dead = { step: 1207, since: 5, why: "its process (4711, on this machine) is gone", resume: "sonde train --resume", command: true };
const run = (status: string | null, live: boolean, unended: typeof dead | null = null) => ({ status, live, unended });

it.each([
  [run("running", true), "running", true],
  [run("running", true, dead), "stopped without ending", false],
  [run("running", false), "running", true], // between a checkpoint and the next record
  [run("finished", false), "finished", false],
  [run(null, true), "being written", false],
  [run(null, false), "\u2014", false],
])("%j is said to be %s", (row, text, training) => {
  expect(statusText(row)).toBe(text);
  expect(isTraining(row)).toBe(training);
});

it("a run that was killed says at which step, and how that is known", () => {
  expect(endingText(run("running", true, dead))).toBe(
    "Stopped after step 1,207 without ending: its process (4711, on this machine) is gone.",
  );
  expect(endingText(run("running", true))).toBeNull();
});

it("the run that is training is shown first, and named", () => {
  const old = { run: "old", ...run("finished", false) };
  const lost = { run: "lost", ...run("running", true, dead) };
  const busy = { run: "busy", ...run("running", true) };
  expect(landing([old, lost, busy])).toBe(busy);
  expect(landing([old, lost])).toBe(old);
  expect(landing<typeof old>([])).toBeUndefined();
  expect(runsText([old, busy])).toBe("2 runs; busy is training");
  expect(runsText([lost])).toBe("1 run");
  expect(runsText([])).toContain("No run has been written yet");
});

it("time is left where the pace is known and the run goes on", () => {
  const row = { ...run("running", true), last_step: 12, max_steps: 20, step_seconds: 3 } as unknown as RunRow;
  expect(secondsLeft(row)).toBe(24);
  expect(secondsLeft({ ...row, step_seconds: null })).toBeNull();
  expect(secondsLeft({ ...row, unended: dead })).toBeNull();
});
