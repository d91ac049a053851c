import { describe, expect, it } from "vitest";
import type { SweepTable } from "../api/types";
import { overPairs, pairsOfCell, pairsOfFile, sharedRoles, statisticsOf, taskOf } from "./pairs";

const axis = (name: string, n: number) => ({ name, values: Array.from({ length: n }, (_, at) => at), labels: Array.from({ length: n }, String) });
const FOUND = {
  metric: "logprob",
  tables: [{ hook: "z", axes: [axis("pair", 2), axis("layer", 3)], values: { logprob: [1, 2, null, 3, null, null] } }],
  pairs: [
    { clean: { recovered: 3 }, corrupt: { recovered: 0 } },
    { clean: { recovered: 1 }, corrupt: { recovered: 0 } },
  ],
} as unknown as SweepTable;

describe("a table over pairs", () => {
  it("becomes one of means, of what there is", () => {
    const [table] = overPairs(FOUND).tables;
    expect(table?.axes.map(({ name }) => name)).toEqual(["layer"]);
    expect(table?.values.logprob).toEqual([2, 2, null]);
  });
  it("has the ratio of means where it is a share, never a mean of ratios", () => {
    const found = { ...FOUND, metric: "recovered", tables: [{ ...FOUND.tables[0], values: { recovered: [1, 0, 0, 0, 0, 0] } }] };
    expect(overPairs(found as unknown as SweepTable).tables[0]?.values.recovered?.[0]).toBe(0.75);
  });
  it("gives every pair of one cell", () => {
    expect(pairsOfCell(FOUND, 0, 0)).toEqual([1, 3]);
    expect(pairsOfCell(FOUND, 0, 1)).toEqual([2, null]);
    expect(pairsOfCell(FOUND, 7, 1)).toEqual([]);
  });
});

it("statistics are read as Python writes them", () => {
  const csv = '"hook","layer","role","metric","n","mean","low","high","t","p","q","share_positive"\n"z",0,"a ""b"", c","logprob",40.0,1.5,1.0,2.0,9.1,0.01,0.02,1.0\n"z",1,"d","logprob",0.0,,,,,,,\n';
  expect(statisticsOf(csv)).toEqual([
    { n: 40, mean: 1.5, low: 1, high: 2, p: 0.01 },
    { n: 0, mean: null, low: null, high: null, p: null },
  ]);
});

describe("pairs", () => {
  it("are a task's, by its name and how many", () => {
    expect([taskOf("agreement:12"), taskOf("greater-than"), taskOf("file:x.jsonl"), taskOf("a:0")]).toEqual([
      { name: "agreement", n: 12 },
      { name: "greater-than", n: 40 },
      null,
      null,
    ]);
  });
  it("are a file's, whose bad lines are named", () => {
    expect(pairsOfFile('{"clean":"a","corrupt":"b","answer":" c"}\n\n')).toHaveLength(1);
    expect(() => pairsOfFile('{"clean":"a","corrupt":"b","answer":" c"}\nnope')).toThrow("Line 2 is not JSON");
    expect(() => pairsOfFile('{"clean":"a","corrupt":"b"}')).toThrow("“answer” is missing");
    expect(() => pairsOfFile(" \n")).toThrow("no pairs");
  });
  it("share the roles that all of them have", () => {
    const pair = (...roles: string[]) => ({ clean: "a", corrupt: "b", answer: "c", roles: Object.fromEntries(roles.map((r) => [r, r])) });
    expect(sharedRoles([pair("subject", "verb"), pair("verb", "end")])).toEqual(["verb"]);
  });
});
