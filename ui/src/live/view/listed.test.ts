import { expect, test } from "vitest";
import type { ListOf } from "./address";
import { listed, newest, type Listed } from "./listed";

const row = (id: string, group: string, R: number | null, advantage: number, completion: string): Listed => ({
  generation_id: id,
  group_id: group,
  step: Number(id.split("-")[0]),
  R,
  gate: R === null ? null : R > 0,
  advantage,
  prompt: "The lid is made of tin.",
  completion,
});
const ROWS = [
  row("2-1", "2-0", 1, 0.1, "made_of(lid, tin)"),
  row("2-0", "2-1", 0, -0.9, "lid"),
  row("1-1", "1-0", 0.5, 0.9, "made_of(lid)"),
  row("1-0", "2-0", null, 0, "TIN"),
];
const ALL: ListOf = { gate: "all", by: "newest", find: "", grouped: false };
const ids = (how: Partial<ListOf>) => listed(ROWS, { ...ALL, ...how }).map((each) => each.generation_id);

test("generations are filtered, searched, sorted and grouped", () => {
  expect(ids({})).toEqual(["2-1", "2-0", "1-1", "1-0"]);
  expect(ids({ gate: "passed" })).toEqual(["2-1", "1-1"]);
  expect(ids({ gate: "failed" })).toEqual(["2-0"]);
  expect(ids({ by: "R" })).toEqual(["2-1", "1-1", "2-0", "1-0"]);
  expect(ids({ by: "advantage" })).toEqual(["1-1", "2-1", "1-0", "2-0"]);
  expect(ids({ find: "tin" })).toHaveLength(4);
  expect(ids({ find: "MADE_OF" })).toEqual(["2-1", "1-1"]);
  expect(ids({ grouped: true })).toEqual(["2-1", "1-0", "2-0", "1-1"]);
});

test("what was streamed and what was told are each once, newest first", () => {
  const [first, second, third] = ROWS;
  if (!first || !second || !third) throw new Error("no rows");
  expect(newest([first], [third, second, first]).map((each) => each.generation_id)).toEqual(["2-1", "2-0", "1-1"]);
});
