import { describe, expect, it } from "vitest";
import { leftText, NO_PACE, paced, secondsLeft, type Pace } from "./pace";

const after = (marks: readonly (readonly [number, number])[]): Pace =>
  marks.reduce((pace, [done, at]) => paced(pace, done, at), NO_PACE);

describe("the time left", () => {
  it("is not said before two chunks are done after what needed no work", () => {
    expect(secondsLeft(NO_PACE, 1000, 0)).toBeNull();
    expect(secondsLeft(after([[100, 0]]), 1000, 5_000)).toBeNull();
    expect(secondsLeft(after([[100, 0], [400, 3_000]]), 1000, 5_900)).toBeNull(); // prettier-ignore
  });
  it("is measured by whole chunks, not by the first cell of one", () => {
    const pace = after([[1, 0], [301, 3_000], [601, 6_000], [602, 9_000]]); // prettier-ignore
    expect(secondsLeft(pace, 1001, 9_000)).toBeCloseTo(1);
  });
  it("counts a burst that comes in several batches once", () => {
    const pace = after([[1, 0], [2, 10], [30, 20]]); // prettier-ignore
    expect(pace.over).toBe(0);
    expect(paced(pace, 31, 500).over).toBe(1);
  });
  it("is in round numbers", () => {
    expect([leftText(0.4), leftText(21.7), leftText(125)]).toEqual(["nearly done", "22 s left", "2 min 05 s left"]);
  });
});
