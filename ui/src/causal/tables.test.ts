import { expect, it } from "vitest";
import type { SweepTable } from "../api/types";
import { MISSING_CELL } from "../widgets/heatmap/ring";
import { panelsOf, placeIn, tableScale } from "./tables";

const layer = { name: "layer" as const, values: [4, 5], labels: ["4", "5"] };
const heads = { name: "head" as const, values: [0, 1, 2, 3], labels: ["0", "1", "2", "3"] };
const shared = { name: "head" as const, values: [0, 1], labels: ["q0–1", "q2–3"] };
const position = { name: "position" as const, values: [1, 2], labels: [" Col", "os"] };

const FOUND = {
  tables: [
    { hook: "z", axes: [layer, heads], values: { recovered: [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7] } },
    { hook: "k", axes: [layer, shared], values: { recovered: [0, -0.2, null, 0.3] } },
    { hook: "v", axes: [layer, shared, position], values: { recovered: [0, 1, 2, 3, 4, 5, 6, 7].map((n) => n / 10) } },
    { hook: "post_block", axes: [layer], values: { recovered: [0.5, 0.6] } },
    { hook: "z", kind: "random_direction", axes: [layer], values: { recovered: [9, 9] } },
  ],
  metric: "recovered",
  corrupt: { recovered: -3 },
  noise_floor: { recovered: 0 },
} as unknown as SweepTable;

const panels = panelsOf(FOUND);

it("every hook of cells has a panel, as wide as it has heads", () => {
  expect(panels.map(({ hook, grid }) => [hook, grid.rows, grid.length])).toEqual([
    ["z", 2, 4],
    ["k", 2, 2],
    ["v", 4, 2],
    ["post_block", 2, 1],
  ]);
});
it("the last axis goes along the columns, the others make the rows", () => {
  expect(panels[2]?.rowLabels).toEqual(["4.q0–1", "4.q2–3", "5.q0–1", "5.q2–3"]);
  expect(panels[2]?.columnLabels).toEqual(["·Col", "os"]);
  expect(panels[2]?.grid.get(3, 1)).toBeCloseTo(0.7);
  expect(panels[0]?.grid.get(1, 2)).toBeCloseTo(0.6);
});
it("a cell without a number is one that never has one", () => {
  expect(panels[1]?.grid.get(1, 0)).toBe(MISSING_CELL);
});
it("all panels are on one scale around the baseline", () => {
  const scale = tableScale(FOUND, panels);
  expect(scale.baseline).toBe(0);
  expect([scale.low, scale.high].map((value) => value.toFixed(2))).toEqual(["-0.20", "0.70"]);
});
it("a place is said with what each side counts", () => {
  expect(panels[1] && placeIn(panels[1], 1, 0)).toBe("layer 5, head q0–1");
  expect(panels[3] && placeIn(panels[3], 0, 0)).toBe("layer 4");
});
