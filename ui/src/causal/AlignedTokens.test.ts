import { expect, it } from "vitest";
import { toggled } from "./AlignedTokens";

const NONE = new Set<number>();

it("of all positions, a click chooses one; then one more or less", () => {
  expect(toggled("all", 3, null, NONE)).toEqual([3]);
  expect(toggled([3], 1, null, NONE)).toEqual([1, 3]);
  expect(toggled([1, 3], 3, null, NONE)).toEqual([1]);
});
it("taking the last one away means all again", () => expect(toggled([1], 1, null, NONE)).toBe("all"));
it("with Shift, everything between is chosen, but for what has no counterpart", () => {
  expect(toggled([2], 5, 2, new Set([4]))).toEqual([2, 3, 5]);
});
