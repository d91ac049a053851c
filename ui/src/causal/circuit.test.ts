import { describe, expect, it } from "vitest";
import type { SweepTable } from "../api/types";
import { boxesOf, isOfEdges, isOfNodes, matrixOf, nodesIn, scoredOf, sizeOf, sizesOf, valueOf } from "./circuit";
import { layoutOf } from "./circuitLayout";

const axis = (name: string, values: (string | number)[], labels = values.map(String)) => ({ name, values, labels });
const compared = (at: number[], exact: number, table = 0) => ({ table, at, exact, attributed: 0, sampled: false });
const EDGES = {
  tables: [
    {
      hook: "post_block",
      axes: [axis("sender", ["embed", "z:0.1", "mlp_out:1"]), axis("receiver", ["k:1.0", "q:1.3", "logits", "total"])],
      values: { logit_diff: [1.5, 1, 1.25, 9, null, 0.9, 3, 9, null, null, -1, 9] },
    },
  ],
  metric: "logit_diff",
  corrupt: { logit_diff: 1 },
  verification: { compared: [compared([1, 2], 2.5), compared([2, 2], -1.5)] },
} as unknown as SweepTable;
const NODES = {
  tables: [
    { hook: "z", axes: [axis("layer", [0, 1]), axis("head", [0, 1]), axis("position", [3, 4], [" a", "b"])], values: { logprob: [0, 1, 2, 3, 4, 5, 6, 7] } },
    { hook: "mlp_out", axes: [axis("layer", [0, 1]), axis("position", [3, 4], [" a", "b"])], values: { logprob: [-9, 0, 0, 0.5] } },
  ],
  metric: "logprob",
  corrupt: { logprob: 0 },
  verification: { compared: [compared([0, 0], -8, 1)] },
} as unknown as SweepTable;
const SHAPE = { layers: 2, heads: 4, kv_heads: 2 } as Parameters<typeof layoutOf>[2];

describe("edges", () => {
  const { parts, kind } = scoredOf(EDGES);
  it("are distances from the baseline, the strongest score first, `total` not among them", () => {
    expect(kind).toBe("edges");
    expect(parts.map(({ name, score, exact }) => [name, score, exact])).toEqual([
      ["z:0.1 → logits", 2, 2.5],
      ["mlp_out:1 → logits", -2, -1.5],
      ["embed → k:1.0", 0.5, null],
      ["embed → logits", 0.25, null],
      ["z:0.1 → q:1.3", expect.closeTo(-0.1), null],
      ["embed → q:1.3", 0, null],
    ]);
    expect(parts.map(valueOf).slice(0, 3)).toEqual([2.5, -1.5, 0.5]);
  });
  it("of an exact table were all run", () => {
    expect(scoredOf({ ...EDGES, verification: null }).parts.every(({ exact, score }) => exact === score)).toBe(true);
  });
  it("are drawn as they are listed: solid by what was run, one line an edge", () => {
    const some = parts.slice(0, 3);
    const { lines, boxes, folded } = layoutOf(scoredOf(EDGES), some, SHAPE);
    expect(lines.map(({ part }) => part.name).toSorted()).toEqual(some.map(({ name }) => name).toSorted());
    expect(new Set(boxes.map(({ key }) => key))).toEqual(new Set(nodesIn(some, 4, 2).map(({ node }) => node)));
    expect(Math.max(...lines.map(({ stroke }) => stroke))).toBe(lines.find(({ part }) => part.sender === "z:0.1")?.stroke);
    expect(folded).toEqual([]);
    const y = (key: string) => boxes.find((box) => box.key === key)?.y ?? 0;
    expect(y("embed")).toBeGreaterThan(y("z:0.1"));
    expect(y("z:0.1")).toBeGreaterThan(y("logits"));
  });
  it("into a key stand between the heads that share it", () => {
    expect(boxesOf("k:1.1", 4, 2)).toEqual(["z:1.2", "z:1.3"]);
    expect(boxesOf("q:1.3", 4, 2)).toEqual(["z:1.3"]);
    expect(boxesOf("mlp:1", 4, 2)).toEqual(["mlp_out:1"]);
  });
  it("have a matrix of their senders by their receivers, every edge between them", () => {
    const [table] = matrixOf(EDGES, parts.slice(0, 2)).tables;
    expect(table?.axes.map(({ values }) => values)).toEqual([["z:0.1", "mlp_out:1"], ["logits"]]);
    expect(table?.values.logit_diff).toEqual([3, -1]);
  });
});

describe("nodes at single positions", () => {
  const scored = scoredOf(NODES);
  it("are named with their position, and valued by what was run", () => {
    expect(scored.positions).toEqual(["3 a", "4 b"]);
    expect(scored.parts[0]).toMatchObject({ name: "mlp_out:0 at 3 a", score: -9, exact: -8, at: "3 a" });
    expect(scored.parts[1]).toMatchObject({ name: "z:1.1 at 4 b", score: 7, exact: null });
    expect(scored.parts).toHaveLength(12);
  });
  it("stand in the cell of their layer and position", () => {
    const { boxes, lines } = layoutOf(scored, scored.parts.slice(0, 4), SHAPE);
    const box = (key: string) => boxes.find((each) => each.key === key);
    expect(lines).toEqual([]);
    expect(boxes).toHaveLength(4);
    expect(box("mlp_out:0 at 3 a")?.x).toBeLessThan(box("z:1.1 at 4 b")?.x ?? 0);
    expect(box("mlp_out:0 at 3 a")?.y).toBeGreaterThan(box("z:1.1 at 4 b")?.y ?? 0);
  });
});

it("tables are told apart by their axes", () => {
  expect([isOfEdges(EDGES), isOfNodes(EDGES)]).toEqual([true, false]);
  expect([isOfEdges(NODES), isOfNodes(NODES)]).toEqual([false, true]);
  expect(isOfNodes({ ...NODES, verification: null })).toBe(false);
});
it("the threshold goes up to all there are, or the most that are drawn", () => {
  expect(sizesOf(4)).toEqual([1, 2, 3, 4]);
  expect(sizesOf(70_651).at(-1)).toBe(400);
  expect(sizesOf(0)).toEqual([]);
  expect([sizeOf(null, sizesOf(70_651)), sizeOf("100", sizesOf(70_651)), sizeOf("x", [1, 2])]).toEqual([40, 80, 2]);
});
