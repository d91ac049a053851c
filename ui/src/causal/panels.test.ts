import { expect, it } from "vitest";
import { scaleOf } from "../widgets/scale";
import { extremes, gridOf, legendKeys, marksOf, placeText, valueAt, valueText } from "./panels";
import type { Axes } from "./sweepView";

const AXES: Axes = {
  layers: [10, 11],
  positions: [1, 4],
  hooks: ["post_block", "mlp_out"],
  metric: "logprob",
  baseline: null,
  tokens: ["The", " Col", "os", "se", "um"],
};
const VALUES = {
  post_block: Float32Array.from([0, 2, 0, Number.NaN]),
  mlp_out: Float32Array.from([2, -1, Number.POSITIVE_INFINITY, 0]),
};

it("the extremes are of all hooks, the first of equal ones", () => {
  const found = extremes(AXES, VALUES);
  expect(found?.max).toEqual({ hook: "post_block", row: 0, column: 1, value: 2 });
  expect(found?.min).toEqual({ hook: "mlp_out", row: 0, column: 1, value: -1 });
  expect(marksOf("post_block", AXES, found)).toEqual([{ kind: "max", row: 1, column: 1 }]);
  expect(marksOf("mlp_out", AXES, found)).toEqual([{ kind: "min", row: 1, column: 1 }]);
});
it("there are none when all values are equal", () => {
  expect(extremes(AXES, { post_block: Float32Array.from([3, 3]) })).toBeNull();
  expect(extremes(AXES, {})).toBeNull();
});
it("a place of the picture counts from the top, where the last layer is", () => {
  const top = { row: 0, column: 0 };
  expect(placeText(AXES, top)).toBe("layer 11, position 1 “·Col”");
  expect(valueAt(AXES, VALUES.post_block, { row: 1, column: 1 })).toBe(2);
  expect(gridOf(AXES, VALUES.post_block).get(0, 1)).toBe(2);
});
it("a value is read out with its distance from the baseline", () => {
  const scale = scaleOf([0, 2], 0, 0.5);
  expect(valueText(scale, 2)).toBe("2.00, +2.00 from the baseline");
  expect(valueText(scale, 0.25)).toContain("within the noise floor");
  expect([valueText(scale, Number.NaN), valueText(scale, Number.POSITIVE_INFINITY)]).toEqual(["not yet", "no number"]);
});
it("a cell without a number says why, where that is known", () => {
  const scale = scaleOf([0, 2], 0);
  expect(valueText(scale, Number.POSITIVE_INFINITY, "the site was not reached")).toBe(
    "no number: the site was not reached",
  );
});
it("the legend explains the signs that are there and no others", () => {
  expect(legendKeys(scaleOf([0, 2], 0, 0.5), VALUES, {})).toEqual(["max", "min", "noise", "none"]);
  expect(legendKeys(scaleOf([1, 2], 0), { post_block: Float32Array.from([1, 2]) }, null)).toEqual([]);
});
