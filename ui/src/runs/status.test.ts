import { expect, it } from "vitest";
import { isTraining, landing, runsText, statusText } from "./status";

const NOW = 1_000_000;
const run = (status: string | null, live: boolean, secondsAgo: number | null) => ({
  status,
  live,
  written: secondsAgo === null ? null : NOW - secondsAgo,
});

it.each([
  [run("running", true, 5), "running", true],
  [run("running", true, null), "running", true],
  [run("running", true, 7200), "silent, not ended", false],
  [run("running", false, 5), "running", true], // between a checkpoint and the next record
  [run("finished", false, 7200), "finished", false],
  [run(null, true, 5), "being written", false],
  [run(null, false, 5), "\u2014", false],
])("%j is said to be %s", (row, text, training) => {
  expect(statusText(row, NOW)).toBe(text);
  expect(isTraining(row, NOW)).toBe(training);
});

it("the run that is training is shown first, and named", () => {
  const old = { run: "old", ...run("finished", false, 5) };
  const lost = { run: "lost", ...run("running", true, 7200) };
  const busy = { run: "busy", ...run("running", true, 60) };
  expect(landing([old, lost, busy], NOW)).toBe(busy);
  expect(landing([old, lost], NOW)).toBe(old);
  expect(landing<typeof old>([], NOW)).toBeUndefined();
  expect(runsText([old, busy], NOW)).toBe("2 runs; busy is training");
  expect(runsText([lost], NOW)).toBe("1 run");
  expect(runsText([], NOW)).toContain("No run has been written yet");
});
