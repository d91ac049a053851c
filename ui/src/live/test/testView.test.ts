import { describe, expect, it } from "vitest";
import type { TableEvent } from "../../api/tests";
import type { SweepEntry } from "../../api/types";
import { askedOf, testsOf } from "./past";
import { chosenHow, EMPTY_TEST, pValue, reachOf, reduceTest, findingOf, verdictOf } from "./testView";

const AXIS = { name: "feature", values: [7, 3, 9], labels: ["15:7", "15:3", "15:9"] };
const START = {
  type: "start",
  cells: 9,
  metric: "logit_diff",
  corrupt: { logit_diff: 2, logprob: -0.1 },
  clean: null,
  tokens: { prompt: ["a", "b"] },
  tables: [
    { hook: "post_block", axes: [AXIS, { name: "position", values: ["everywhere"], labels: ["everywhere"] }], values: {} },
    {
      kind: "random_direction",
      hook: "post_block",
      axes: [AXIS, { name: "draw", values: [0, 1], labels: ["0", "1"] }],
      values: {},
    },
  ],
} as unknown as TableEvent;
const cell = (table: number, at: number[], logit_diff: number | null): TableEvent => ({
  type: "cell",
  table,
  at,
  values: { logit_diff },
});
const ASKED = { top: 2, also: [9], brightest: [9, 3] };

describe("a test as it fills", () => {
  it("says how the checkpoint is loaded, then bars as changes from the unpatched prompt", () => {
    const loading = reduceTest(EMPTY_TEST, [{ type: "loading", model: "one@checkpoint-3", message: "loading it" }]);
    expect(loading.loading).toBe("loading it");
    const view = reduceTest(loading, [START, cell(0, [0, 0], -1), cell(1, [0, 0], 2.5), cell(1, [0, 1], 1.75)]);
    expect(view.rows[0]).toEqual({ feature: 7, label: "15:7", effect: -3, random: [0.5, -0.25] });
    expect(view.rows[1]).toMatchObject({ effect: undefined, random: [] });
    expect([view.done, view.cells, view.draws]).toEqual([3, 9, 2]);
    expect(reachOf(view.rows)).toBe(3);
  });

  it("has a p only when every random direction has been run and is a number", () => {
    const row = { feature: 7, label: "15:7", effect: -3, random: [0.5, -3.5] };
    expect(pValue(row, 2)).toBeCloseTo(2 / 3);
    expect(pValue(row, 3)).toBeNull();
    expect(pValue({ ...row, random: [0.5, null] }, 2)).toBeNull();
    expect(pValue({ ...row, effect: null }, 2)).toBeNull();
    expect(pValue(row, 0)).toBeNull();
  });

  it("says why each feature is there", () => {
    const { rows } = reduceTest(EMPTY_TEST, [START]);
    const how = rows.map((row, index) => chosenHow(row, index, ASKED));
    expect(how).toEqual([["attribution"], ["attribution", "brightest"], ["asked", "brightest"]]);
    expect(chosenHow(rows[2] ?? { feature: 1, label: "", effect: 0, random: [] }, 2, { ...ASKED, also: [], brightest: [] })).toEqual([
      "brightest",
    ]);
  });

  it("is judged in one line", () => {
    const all = [0, 1, 2].flatMap((row) => [cell(0, [row, 0], 2 + row), cell(1, [row, 0], 1), cell(1, [row, 1], 2.5)]);
    const view = reduceTest(EMPTY_TEST, [START, ...all]);
    expect(verdictOf(view, ASKED, 0.4)).toBe(
      "Of 2 features that attribution put first, 0 move the answer more than all 2 random directions of the same length; of the 2 brightest at the last token, 1. By chance alone it would be 1.2 of 3.",
    );
    expect(verdictOf(view, ASKED)).not.toContain("By chance");
    expect(verdictOf(view, { top: 0, also: [7, 3, 9], brightest: [] }, 0.4)).toMatch(/^Of 3 features that were asked about, 1 move/);
    expect(verdictOf({ rows: [], draws: 2 }, ASKED)).toBe("No feature is active here.");
  });
});

it("the finding names the feature that matters most, by how much, beside random directions; or none", () => {
  const rows = [
    { feature: 7, label: "15:7", effect: 0.5, random: [0.1, -0.25] },
    { feature: 3, label: "15:3", effect: -2.5, random: [-0.5, 3] },
    { feature: null, label: "error", effect: 9, random: [] },
  ];
  expect(findingOf({ rows, draws: 2 }, "removed", "the logit", 0.4)).toBe(
    "15:7 matters: removed, it moves the logit by +0.500, 2 random directions as long by at most 0.250 (p 0.333, by itself).",
  );
  expect(findingOf({ rows, draws: 2 }, "removed", "the logit")).toMatch(/^None is beyond chance; the most is 15:3: removed, it moves the logit by \u22122\.50,/);
  expect(findingOf({ rows: rows.slice(2), draws: 2 }, "removed", "the logit")).toBeNull();
});

describe("a test of the reward", () => {
  it("says how far sampling is, then what has come of it", () => {
    const found = { verdict: "It matters.", reward: 0.8, gate: 0.9, prompts: 64, effects: [] };
    const view = reduceTest(EMPTY_TEST, [
      { type: "sampling", label: "15:7", done: 3, of: 64 },
      { type: "reward", found },
    ]);
    expect(view.loading).toBe("sampling with 15:7: 3 of 64 completions");
    expect(view.reward).toEqual(found);
  });
});

describe("tests of the past", () => {
  const entry = (model: string, features: unknown, kind = "table") =>
    ({ id: model, kind, provenance: { request: { model, features } } }) as unknown as SweepEntry;

  it("are those of features, on a checkpoint of this run", () => {
    const tests = [
      entry("one@checkpoint-3", { layer: 15 }),
      entry("one@checkpoint-3", null),
      entry("one-more@checkpoint-3", { layer: 15 }),
      entry("one@checkpoint-6", { layer: 15 }, "classic"),
    ];
    expect(testsOf(tests, "one")).toEqual([tests[0]]);
    const reward = { id: "r", kind: "table", provenance: { request: { features: { layer: 15 }, reward: { run: "one" } } } };
    expect(testsOf([reward as unknown as SweepEntry], "one")).toHaveLength(1);
    expect(askedOf(reward as unknown as SweepEntry).ofReward).toBe(true);
  });

  it("know what they asked", () => {
    const found = askedOf(entry("one@checkpoint-3", { layer: 15, top: 6, also: [7] }), { brightest: "7, 12" });
    expect(found).toMatchObject({ layer: 15, top: 6, also: [7], brightest: [7, 12], model: "one@checkpoint-3" });
    expect(askedOf(entry("m", { layer: 15, numbers: [4, 2] }))).toMatchObject({ top: 0, also: [4, 2] });
    expect(askedOf(null).request).toBeNull();
  });
});
