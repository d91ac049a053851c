import { expect, it } from "vitest";
import { cellSize, labelStep } from "./paint";

it("cells shrink as there are more of them", () => {
  expect([cellSize(30, 9), cellSize(12, 100)]).toEqual([
    { width: 28, height: 14 },
    { width: 11, height: 22 },
  ]);
});
it("labels are thinned out to as many as fit", () => {
  expect([labelStep(10, 16), labelStep(30, 16), labelStep(70, 16), labelStep(9000, 16)]).toEqual([1, 2, 5, 1000]);
});
