import { expect, it } from "vitest";
import type { SweepTable } from "../api/types";
import { barsOf, byEffect, isOfFeatures } from "./features";

const feature = { name: "feature" as const, values: [7, 3, "error"], labels: ["15:7", "15:3", "error"] };
const position = { name: "position" as const, values: [1, "everywhere"], labels: [" a", "everywhere"] };
const draw = { name: "draw" as const, values: [0, 1], labels: ["1", "2"] };
const FOUND = {
  tables: [
    { hook: "post_block", axes: [feature, position], values: { logprob: [-3, -2.5, -3, -6, -3, 9] } },
    { hook: "post_block", kind: "random_direction", axes: [feature, draw], values: { logprob: [-3, -3.25, null, -2, -3, -3] } },
  ],
  metric: "logprob",
  corrupt: { logprob: -3 },
} as unknown as SweepTable;

it("an effect is of changing a feature everywhere, from the unpatched prompt", () => {
  const { rows, draws } = barsOf(FOUND, true);
  expect(rows).toEqual([
    { feature: 7, label: "15:7", effect: 0.5, random: [0, -0.25] },
    { feature: 3, label: "15:3", effect: -3, random: [null, 1] },
    { feature: null, label: "error", effect: 12, random: [0, 0] },
  ]);
  expect(draws).toBe(2);
});
it("what has not been run yet is not told, and a share is from nothing", () => {
  const empty = FOUND.tables.map((table) => ({ ...table, values: { recovered: table.values.logprob?.map((_, n) => (n === 1 ? 0.4 : null)) } }));
  const { rows } = barsOf({ ...FOUND, metric: "recovered", tables: empty } as unknown as SweepTable, false);
  expect(rows.map(({ effect }) => effect)).toEqual([0.4, undefined, undefined]);
  expect(rows.map(({ random }) => random)).toEqual([[0.4], [], []]);
});
it("the largest effect comes first, and what is no feature last", () => {
  expect(byEffect(barsOf(FOUND, true).rows).map(({ label }) => label)).toEqual(["15:3", "15:7", "error"]);
});
it("a table through checkpoints is not one of features alone", () => {
  expect(isOfFeatures(FOUND)).toBe(true);
  const step = { name: "checkpoint" as const, values: [1], labels: ["1"] };
  expect(isOfFeatures({ tables: FOUND.tables.map((table) => ({ ...table, axes: [step, ...table.axes] })) })).toBe(false);
});
