import { describe, expect, it } from "vitest";
import type { AttentionTable, HeadShape, SweepTable } from "../api/types";
import { arcsOf, groupOf, headOf, headRows, headText, isOfHeads, matrixGrid, readersOf, sharedBy, sorted, weightsOf } from "./heads";

const SHAPE: HeadShape = { heads: 4, kv_heads: 2, key_width: 8, value_width: 8 };
const axis = (name: "layer" | "head", ...values: number[]) => ({ name, values, labels: values.map(String) });
const FOUND = {
  metric: "logprob",
  tables: [
    { hook: "z", axes: [axis("layer", 4, 9), axis("head", 0, 1, 2, 3)], values: { logprob: [-5, -4, -3, -9, -5, -5, null, -5] } },
    { hook: "k", axes: [axis("layer", 4, 9), axis("head", 0, 1)], values: { logprob: [-5, -2, -5, -5] } },
  ],
} as unknown as SweepTable;
const SCORED = {
  tokens: ["a", "b"], layers: [4, 9], heads: [0, 1, 2, 3],
  scores: { previous: [0, 0, 0, 0, 0, 0.9, 0, null], duplicate: [0, 0, 0, 0, 0, 0, 0, 0], induction: [0.1, 0, 0, 0, 0, 0, 0, 0] },
} as unknown as AttentionTable; // prettier-ignore

describe("heads", () => {
  it("have names that stand in an address", () => {
    expect(headOf(headText({ layer: 9, head: 6 }))).toEqual({ layer: 9, head: 6 });
    expect([headOf(null), headOf("9"), headOf("x.1")]).toEqual([null, null, null]);
  });
  it("share keys and values in groups", () => {
    expect(readersOf(SHAPE, 1)).toEqual([2, 3]);
    expect([groupOf(SHAPE, 1), groupOf(SHAPE, 2)]).toEqual([0, 1]);
    expect([sharedBy(SHAPE, "k"), sharedBy(SHAPE, "pattern")]).toEqual([2, 1]);
  });
  it("are rows with their own effects, and the keys' of their group", () => {
    expect(isOfHeads(FOUND)).toBe(true);
    const rows = headRows(FOUND, SHAPE, -5, null);
    expect(rows).toHaveLength(8);
    expect(rows[2]).toEqual({ layer: 4, head: 2, effects: { z: 2, k: 3 }, scores: {} });
    expect(rows[6]?.effects.z).toBeNull();
  });
  it("are sorted by what they do, in either direction, or by what they look at", () => {
    const rows = headRows(FOUND, SHAPE, -5, SCORED);
    expect(sorted(rows, "z").map(headText).slice(0, 3)).toEqual(["4.3", "4.2", "4.1"]);
    expect(sorted(rows, "z").map(headText).at(-1)).toBe("9.2");
    expect(sorted(rows, "previous").map(headText)[0]).toBe("9.1");
    expect(sorted(rows, "induction").map(headText)[0]).toBe("4.0");
  });
});

describe("attention", () => {
  const table = { tokens: ["a", "b"], layers: [9], heads: [1, 3], patterns: [1, 0, 0.5, 0.5, 1, 0, 0.2, 0.8] };
  const weights = weightsOf(table as unknown as AttentionTable, { layer: 9, head: 3 });
  it("is a matrix whose first position is on top", () => {
    expect(Array.from(weights ?? [])).toEqual([1, 0, expect.closeTo(0.2), expect.closeTo(0.8)]);
    const grid = matrixGrid(weights ?? new Float32Array(), 2);
    expect([grid.get(1, 0), grid.get(1, 1)]).toEqual([1, 0]);
    expect(grid.get(0, 0)).toBeCloseTo(0.2);
  });
  it("is arcs to earlier tokens, where there is enough of it", () => {
    expect(arcsOf(weights ?? new Float32Array(), 2)).toEqual([{ position: 1, key: 0, weight: expect.closeTo(0.2) as number }]);
    expect(arcsOf(weights ?? new Float32Array(), 2, 0.3)).toEqual([]);
  });
  it("is nothing where it was not asked for", () => {
    expect(weightsOf(table as unknown as AttentionTable, { layer: 9, head: 2 })).toBeNull();
  });
});
