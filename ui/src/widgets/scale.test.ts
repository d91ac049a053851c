import { describe, expect, it } from "vitest";
import { changeOf, fractionOf, isNoise, kindOf, reaching, reachOf, scaleOf, textOf } from "./scale";

describe("with a baseline", () => {
  const scale = scaleOf([-9, -1, Number.NaN, Number.POSITIVE_INFINITY], -8, 0.5);
  it("is symmetric about it, whatever the values", () => {
    expect(kindOf(scale)).toBe("diverging");
    expect(fractionOf(scale, -8)).toBe(0.5);
    expect(fractionOf(scale, -1)).toBe(1);
    expect(fractionOf(scale, -15)).toBe(0);
    expect(reachOf(scale)).toBe(7);
  });
  it("knows what is noise, its edge included", () => {
    expect([-8.5, -7.6, -7.4].map((value) => isNoise(scale, value))).toEqual([true, true, false]);
  });
  it("writes values and changes with the decimals of its reach", () => {
    expect([textOf(scale, -1), changeOf(scale, -1), changeOf(scale, -8)]).toEqual(["−1.00", "+7.00", "0.00"]);
  });
});

describe("without a baseline", () => {
  const scale = scaleOf([2, 6], null);
  it("runs from the least to the greatest", () => {
    expect(kindOf(scale)).toBe("sequential");
    expect([2, 4, 6].map((value) => fractionOf(scale, value))).toEqual([0, 0.5, 1]);
    expect(changeOf(scale, 4)).toBe("");
  });
  it("has no noise", () => expect(isNoise(scale, 2)).toBe(false));
});

it("a noise floor of 0 makes nothing noise, not even the baseline itself", () => {
  expect(isNoise(scaleOf([1], 0, 0), 0)).toBe(false);
});
it("a scale of nothing is usable", () => {
  const scale = scaleOf([], null);
  expect([scale.low, scale.high, fractionOf(scale, 0)]).toEqual([0, 0, 0]);
});

it("one colour is one distance on two scales that reach as far", () => {
  const [one, other] = [scaleOf([-5, -1], -5), scaleOf([-4, -2], -4)].map((scale) => reaching(scale, 4));
  expect(one && other && [fractionOf(one, -3), fractionOf(other, -2)]).toEqual([0.75, 0.75]);
  expect(other).toMatchObject({ low: -4, high: -2 });
});
