import { expect, it } from "vitest";
import type { SweepSummary } from "../api/types";
import { difference, differenceTable, requestDifferences, whyNot } from "./compare";

const summary = (changes: Partial<SweepSummary>): SweepSummary =>
  ({
    layers: [0, 1],
    positions: [0, 1],
    hook: "post_block",
    metric: "logprob",
    grid: [
      [1, 2],
      [3, null],
    ],
    hook_grids: null,
    noise_floor: 0.1,
    tokens: { prompt: ["a", "b"], clean: null },
    ...changes,
  }) as unknown as SweepSummary;

it("is taken where both have a cell, and is missing where one has no number", () => {
  const made = difference(summary({}), summary({ layers: [1], grid: [[1, 1]], noise_floor: 0.2 }));
  expect(made?.axes).toMatchObject({ layers: [1], positions: [0, 1], hooks: ["post_block"] });
  expect([...(made?.values.post_block ?? [])]).toEqual([2, Number.POSITIVE_INFINITY]);
  expect(made?.noise).toBeCloseTo(0.3);
  expect(made?.warnings).toEqual([]);
});
it("of grids by hook goes hook by hook", () => {
  const hook_grids = [
    {
      hook: "mlp_out",
      grid: [
        [5, 5],
        [5, 5],
      ],
      argmax: null,
      argmin: null,
    },
  ] as SweepSummary["hook_grids"];
  const made = difference(summary({ hook_grids, hook: "mlp_out" }), summary({ hook_grids, hook: "mlp_out" }));
  expect([...(made?.values.mlp_out ?? [])]).toEqual([0, 0, 0, 0]);
});
it("warns of other tokens", () => {
  const made = difference(summary({}), summary({ tokens: { prompt: ["a", "x"], clean: null } }));
  expect(made?.warnings).toHaveLength(1);
});
it("of numbers of different units there is none, and it says why", () => {
  expect(difference(summary({}), summary({ metric: "recovered" }))).toBeNull();
  expect(whyNot(summary({}), summary({ metric: "recovered" }))).toContain("logprob and recovered");
  expect(whyNot(summary({}), summary({}))).toBeNull();
});
it("of sweeps without a common cell is none", () => {
  expect(difference(summary({}), summary({ positions: [7, 8] }))).toBeNull();
  expect(difference(summary({}), summary({ hook: "mlp_out" }))).toBeNull();
});
it("says in what the two were asked differently, but for names of runs", () => {
  expect(
    requestDifferences(
      { alpha: 0.5, source_run: "a", prompt: "x" },
      { alpha: 1, source_run: "b", prompt: "x", foil_token: " y" },
    ),
  ).toEqual(["alpha 0.5, not 1", "foil_token none, not “ y”"]);
});
it("leaves as a table with a row a cell", () => {
  const made = difference(summary({}), summary({ layers: [1], grid: [[1, 1]] }));
  expect(made && differenceTable(made)).toEqual([
    ["hook", "layer", "position", "token", "difference"],
    ["post_block", "1", "0", "a", "2"],
    ["post_block", "1", "1", "b", ""],
  ]);
});
