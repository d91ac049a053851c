import { expect, it } from "vitest";
import type { Control, SweepEntry, SweepSummary, SweepTable } from "../api/types";
import {
  askedTokens,
  controlsText,
  costText,
  metricLabel,
  noiseText,
  skippedLines,
  sourceText,
  strongest,
  tableTimeText,
  timingText,
} from "./wording";

const control = (difference: number, passed = true): Control => ({
  kind: "self_patch",
  hook: "mlp_out",
  layer: 2,
  position: 1,
  difference,
  tolerance: 0.001,
  passed,
});

it("controls are said to have passed, and how exactly", () => {
  expect(controlsText([control(0), control(0)])).toBe("2 of 2 equal the baseline, bit for bit");
  expect(controlsText([control(0), control(0.0005)])).toBe(
    "2 of 2 equal the baseline within 0.00100 (largest difference 0.000500)",
  );
  expect(controlsText([])).toBe("none were run");
});
it("a control that failed is named, the worst first", () => {
  expect(controlsText([control(0.1, false), control(0.5, false), control(0)])).toBe(
    "2 of 3 FAILED: self_patch at mlp_out, layer 2, position 1 differs by 0.500 where 0.00100 is allowed",
  );
});
it("metrics are named with what they are of", () => {
  expect(metricLabel("logprob", " Paris", "")).toBe("log-probability of “·Paris”");
  expect(metricLabel("logit_diff", " Paris", "token_id:7")).toBe("logit difference, “·Paris” over token 7");
});
it("the noise floor is a number or a reason", () => {
  expect([noiseText(null), noiseText(0.25)]).toEqual(["not measured", "0.250"]);
  expect(noiseText(0)).toContain("same bits");
});
it("what was left out is one line a reason", () => {
  const skipped = [2, 3, 5].map((position) => ({ position, reason: "no counterpart" }));
  expect(skippedLines({ skipped } as unknown as SweepSummary)).toEqual(["positions 2–3, 5: no counterpart"]);
});
it("time is said with what needed none", () => {
  const timing = { cells: 270, computed_cells: 150, total_seconds: 0.71, cells_per_second: 380 };
  expect(timingText({ timing } as unknown as SweepSummary)).toBe(
    "270 cells in 0.71 s, 380 cells/s; 120 of them could not differ from the baseline",
  );
});
it("the tokens of a request are found, by text or number", () => {
  const entry = { provenance: { request: { answer_token: " a", foil_token_id: 3 } } } as unknown as SweepEntry;
  expect(askedTokens(entry)).toEqual({ answer: " a", foil: "token_id:3" });
});
it("the strongest sites are those of all hooks", () => {
  const site = (value: number) => ({ layer: 1, position: 0, value });
  const summary = {
    tokens: { prompt: [" a"] },
    hook_grids: [
      { hook: "post_block", argmax: site(1), argmin: site(-1) },
      { hook: "mlp_out", argmax: site(2), argmin: site(-0.5) },
    ],
  } as unknown as SweepSummary;
  expect(strongest(summary)).toEqual({
    largest: "2.00 at mlp_out, layer 1, position 0 “·a”",
    smallest: "−1.00 at post_block, layer 1, position 0 “·a”",
  });
});
it("a position says which clean token it was given", () => {
  const alignment = { n_clean: 2, n_corrupt: 2, prefix_len: 2, suffix_len: 0, unaligned_positions: [] };
  const summary = { alignment, tokens: { prompt: ["a", "b"], clean: ["a", " c"] } } as unknown as SweepSummary;
  expect(sourceText(summary, 1)).toBe("from “·c”");
  expect(sourceText({ ...summary, alignment: null }, 1)).toBe("");
});
it("a cost is said in cells, time and memory", () => {
  const cost = {
    cells: 810,
    computed_cells: 690,
    token_layers: 1,
    working_bytes: 1 << 20,
    source_bytes: 1 << 20,
    seconds: 2.1,
    chunks: 1,
  };
  expect(costText(cost)).toBe(
    "810 cells, 120 of which cannot differ from the baseline; about 2.10 s and 2.0 MiB of memory",
  );
  expect(costText({ ...cost, cells: 1, computed_cells: 1 })).toBe("1 cell; about 2.10 s and 2.0 MiB of memory");
  expect(costText({ ...cost, cells: 70_651, computed_cells: 80 }, true)).toBe(
    "70,651 cells to score and 80 to run; about 2.10 s for those that are run, scoring and circuits come on top; 2.0 MiB of memory",
  );
});

it("a table says how long it took, and of scores how many were run", () => {
  const timing = { cells: 70_651, computed_cells: 80, total_seconds: 4.5, cells_per_second: 1 } as SweepSummary["timing"];
  const verification = { verified: 80 } as NonNullable<SweepTable["verification"]>;
  expect(tableTimeText({ timing, verification, checkpoints: null })).toBe("70,651 cells scored, 80 of them run, in 4.50 s");
  expect(tableTimeText({ timing, verification: null, checkpoints: [] })).toBe("70,651 cells, in 4.50 s, loading not counted");
  expect(tableTimeText({ timing, verification: null, checkpoints: null })).toBe(timingText({ timing }));
});
