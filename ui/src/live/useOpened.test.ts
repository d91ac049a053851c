import { expect, it } from "vitest";
import { inOrder } from "./useOpened";

it("what was opened last comes first, and what is closed goes", () => {
  const one = inOrder([], ["feature 15.7", null, null]);
  expect(one).toEqual(["feature 15.7"]);
  const two = inOrder(one, ["feature 15.7", "generation 3-1", null]);
  expect(two).toEqual(["generation 3-1", "feature 15.7"]);
  expect(inOrder(two, ["feature 15.9", "generation 3-1", "test a"])).toEqual(["feature 15.9", "test a", "generation 3-1"]);
  expect(inOrder(two, [null, null, null])).toEqual([]);
});
