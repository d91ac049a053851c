import { describe, expect, it } from "vitest";
import type { TableEvent } from "../api/types";
import { EMPTY_TABLE, isTableOver, reduceTable } from "./tableView";

const axis = (name: string, n: number) => ({ name, values: Array.from({ length: n }, (_, at) => at), labels: [] });
const start = (...axes: unknown[]) =>
  ({ type: "start", metric: "logprob", cells: 4, corrupt: { logprob: -5 }, tables: [{ hook: "z", axes, values: {} }] }) as unknown as TableEvent;
const cell = (at: number[], value: number) => ({ type: "cell", table: 0, at, values: { logprob: value } }) as TableEvent;

describe("a table as it comes", () => {
  it("fills cell by cell, the last axis fastest", () => {
    const view = reduceTable(EMPTY_TABLE, [start(axis("layer", 2), axis("head", 2)), cell([1, 0], 7)]);
    expect(view.found?.tables[0]?.values.logprob).toEqual([null, null, 7, null]);
    const next = reduceTable(view, [cell([0, 1], 3)]);
    expect(next.found?.tables[0]?.values.logprob).toEqual([null, 3, 7, null]);
    expect([next.done, next.cells, view.done]).toEqual([2, 4, 1]);
  });
  it("has means while pairs arrive, and the dropped ones", () => {
    const pair = { type: "pair", means: [[1.5, 2]], values: [{ logprob: [1, 2] }], done: 1 } as unknown as TableEvent;
    const dropped = { type: "dropped", dropped: { pair: 1, reason: "wrong" }, done: 2 } as TableEvent;
    const view = reduceTable(EMPTY_TABLE, [start(axis("pair", 2), axis("layer", 2)), pair, dropped]);
    expect(view.found?.tables[0]?.axes.map(({ name }) => name)).toEqual(["layer"]);
    expect(view.found?.tables[0]?.values.logprob).toEqual([1.5, 2]);
    expect([view.done, view.pairs, view.dropped]).toEqual([2, 2, [{ pair: 1, reason: "wrong" }]]);
  });
  it("says how many cells were run to verify scores", () => {
    expect(reduceTable(EMPTY_TABLE, [start(axis("layer", 4)), { type: "verifying", done: 3 }]).verified).toBe(3);
  });
  it("is over with its summary, or with what went wrong", () => {
    expect(isTableOver(reduceTable(EMPTY_TABLE, [start(axis("layer", 4))]))).toBe(false);
    expect(isTableOver(reduceTable(EMPTY_TABLE, [{ type: "error", error: "no" }]))).toBe(true);
    const end = { type: "summary", tables: [], metric: "logprob" } as unknown as TableEvent;
    expect(reduceTable(EMPTY_TABLE, [start(axis("layer", 4)), end])).toMatchObject({ finished: true, done: 4 });
  });
});
