import { expect, it } from "vitest";
import { moved, samePlace } from "./cursor";

const AT = { row: 1, column: 1 };

it.each([
  ["ArrowLeft", { row: 1, column: 0 }],
  ["ArrowRight", { row: 1, column: 2 }],
  ["ArrowUp", { row: 0, column: 1 }],
  ["ArrowDown", { row: 2, column: 1 }],
  ["Home", { row: 1, column: 0 }],
  ["End", { row: 1, column: 3 }],
  ["PageUp", { row: 0, column: 1 }],
  ["PageDown", { row: 2, column: 1 }],
])("%s leads where it says and not beyond the edge", (key, place) => expect(moved(key, AT, 3, 4)).toEqual(place));

it("other keys lead nowhere", () => expect(moved("a", AT, 3, 4)).toBeNull());
it("two places are the same when both are nowhere", () => {
  expect([samePlace(null, null), samePlace(AT, { ...AT }), samePlace(AT, null)]).toEqual([true, true, false]);
});
