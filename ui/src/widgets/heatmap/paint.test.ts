import { expect, it } from "vitest";
import { cellSize, cellSizeIn, labelStep, labelsUnder } from "./paint";

it("cells shrink as there are more of them", () => {
  expect([cellSize(30, 9), cellSize(12, 100)]).toEqual([
    { width: 28, height: 14 },
    { width: 11, height: 22 },
  ]);
});
it("a wide grid is narrowed to the room there is, as far as it can be pointed at", () => {
  expect(cellSizeIn(900, 30, 128)).toEqual({ width: 7, height: 14 });
  expect(cellSizeIn(900, 30, 9).width).toBe(28);
  expect(cellSizeIn(100, 30, 128).width).toBe(5);
  expect(cellSizeIn(0, 30, 128).width).toBe(11);
});
it("labels that would overlap are left out", () => {
  expect([labelsUnder(9, 28), labelsUnder(100, 11), labelsUnder(128, 7)]).toEqual([9, 100, 81]);
});
it("labels are thinned out to as many as fit", () => {
  expect([labelStep(10, 16), labelStep(30, 16), labelStep(70, 16), labelStep(9000, 16)]).toEqual([1, 2, 5, 1000]);
});
