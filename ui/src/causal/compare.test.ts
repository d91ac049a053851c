import { describe, expect, it } from "vitest";
import type { SweepSummary, SweepTable } from "../api/types";
import { difference, differenceTable, foundOf, reachOfBoth, requestDifferences, tableOfSummary, whyNot, type Found } from "./compare";

const summary = (changes: Partial<SweepSummary>): Found =>
  tableOfSummary({
    layers: [0, 1],
    positions: [0, 1],
    hook: "post_block",
    metric: "logprob",
    corrupt: 1,
    clean: null,
    grid: [
      [1, 2],
      [3, null],
    ],
    hook_grids: null,
    noise_floor: 0.1,
    tokens: { prompt: ["a", "b"], clean: null },
    ...changes,
  } as unknown as SweepSummary);

const layer = { name: "layer" as const, values: [4, 5], labels: ["4", "5"] };
const head = { name: "head" as const, values: [0, 1], labels: ["0", "1"] };
const heads = (values: number[], changes: object = {}): SweepTable =>
  ({
    tables: [{ hook: "z", axes: [layer, head], values: { recovered: values } }],
    metric: "recovered",
    corrupt: { recovered: -3 },
    noise_floor: { recovered: 0 },
    recovered_of: "logit_diff",
    ...changes,
  }) as unknown as SweepTable;

describe("the difference", () => {
  it("is taken where both have a cell, and is missing where one has no number", () => {
    const made = difference(summary({}), summary({ layers: [1], grid: [[1, 1]], noise_floor: 0.2 }));
    expect(made?.found.tables[0]).toMatchObject({ hook: "post_block", values: { logprob: [2, null] } });
    expect(made?.found.tables[0]?.axes.map(({ values }) => values)).toEqual([[1], [0, 1]]);
    expect(made?.found.noise_floor.logprob).toBeCloseTo(0.3);
    expect(made?.found.corrupt.logprob).toBe(0);
    expect(made?.warnings).toEqual([]);
  });
  it("of several hooks goes hook by hook", () => {
    const grid = [
      [5, 5],
      [5, 5],
    ];
    const hook_grids = [{ hook: "mlp_out", grid, argmax: null, argmin: null }] as SweepSummary["hook_grids"];
    const made = difference(summary({ hook_grids }), summary({ hook_grids }));
    expect(made?.found.tables.map((table) => [table.hook, table.values.logprob])).toEqual([["mlp_out", [0, 0, 0, 0]]]);
  });
  it("of heads is taken head by head, whatever order they come in", () => {
    const turned = { ...head, values: [1, 0], labels: ["1", "0"] };
    const other = heads([], { tables: [{ hook: "z", axes: [layer, turned], values: { recovered: [10, 20, 30, 40] } }] });
    expect(difference(heads([1, 2, 3, 4]), other)?.found.tables[0]?.values.recovered).toEqual([-19, -8, -37, -26]);
  });
  it("warns of other tokens", () => {
    const made = difference(summary({}), summary({ tokens: { prompt: ["a", "x"], clean: null } }));
    expect(made?.warnings).toEqual([expect.stringContaining("At 1 of 2 positions")]);
  });
  it("of sweeps without a common cell is none, and that is said", () => {
    for (const other of [summary({ positions: [7, 8] }), summary({ hook: "mlp_out" })]) {
      expect(difference(summary({}), other)).toBeNull();
      expect(whyNot(summary({}), other)).toContain("no cell in common");
    }
  });
  it("leaves as a table with a row a cell", () => {
    const made = difference(summary({}), summary({ layers: [1], grid: [[1, 1]] }));
    expect(made && differenceTable(made)).toEqual([
      ["hook", "layer", "position", "token", "difference"],
      ["post_block", "1", "0", "a", "2"],
      ["post_block", "1", "1", "b", ""],
    ]);
  });
});

describe("numbers of different units", () => {
  it("are not subtracted, and it says why", () => {
    expect(difference(summary({}), summary({ metric: "recovered" }))).toBeNull();
    expect(whyNot(summary({}), summary({ metric: "recovered" }))).toContain("logprob and recovered");
    expect(whyNot(summary({}), summary({}))).toBeNull();
  });
  it("are also shares of two things", () => {
    const [one, other] = [heads([1, 2, 3, 4]), heads([1, 2, 3, 4], { recovered_of: "logprob" })];
    expect(difference(one, other)).toBeNull();
    expect(whyNot(one, other)).toContain("recovered (of logit_diff) and recovered (of logprob)");
  });
  it("have no common scale; of one unit they reach as far as either", () => {
    expect(reachOfBoth(summary({}), summary({ metric: "recovered" }))).toBeUndefined();
    expect(reachOfBoth(summary({}), summary({ corrupt: -9 }))).toBe(12);
  });
});

it("what a sweep over many pairs found is compared by its means, and one that failed not at all", () => {
  const pair = { name: "pair" as const, values: [0, 1], labels: ["a", "b"] };
  const over = { ...heads([]), metric: "logprob", pairs: [{ clean: {}, corrupt: {} }, { clean: {}, corrupt: {} }] };
  const tables = [{ hook: "z", axes: [pair, layer], values: { logprob: [1, 2, 3, 6] } }];
  const found = foundOf({ summary: null, table: { ...over, tables } as unknown as SweepTable });
  expect(found?.tables[0]).toMatchObject({ axes: [layer], values: { logprob: [2, 4] } });
  expect(foundOf({ summary: null })).toBeNull();
});

it("says in what the two were asked differently, but for names of runs", () => {
  expect(
    requestDifferences(
      { alpha: 0.5, source_run: "a", prompt: "x" },
      { alpha: 1, source_run: "b", prompt: "x", foil_token: " y" },
    ),
  ).toEqual(["alpha 0.5, not 1", "foil_token none, not “ y”"]);
});
