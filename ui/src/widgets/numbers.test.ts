import { describe, expect, it } from "vitest";
import examples from "./examples.generated.json";
import { ago, count, decimalsFor, duration, fixed, modelName, number, ranges, rate, signed, size } from "./numbers";

describe("numbers are written as Python writes them", () => {
  it.each(examples.number)("%f on its own", (value, text) => expect(number(Number(value))).toBe(text));
  it.each(examples.fixed)("%f with two decimals", (value, text) => expect(fixed(Number(value), 2)).toBe(text));
  it.each(examples.signed)("%f as a difference", (value, text) => expect(signed(Number(value), 3)).toBe(text));
  it.each(examples.decimals)("decimals for %f", (value, n) => expect(decimalsFor(value)).toBe(n));
  it.each(examples.duration)("%f seconds", (value, text) => expect(duration(Number(value))).toBe(text));
  it.each(examples.size)("%f bytes", (value, text) => expect(size(Number(value))).toBe(text));
});

describe("what Python has no examples of", () => {
  it("shows a dash for a number that is not there", () => {
    expect([number(null), number(Number.NaN), fixed(undefined, 2), signed(null, 2)]).toEqual(["—", "—", "—", "—"]);
  });
  it("counts", () => expect([count(1, "layer"), count(1350, "cell")]).toEqual(["1 layer", "1,350 cells"]));
  it("names speeds", () => expect(rate(380, "cells")).toBe("380 cells/s"));
  it("says how long ago in one unit", () => {
    expect([0, 12.9, 200, 7300, 200_000].map(ago)).toEqual(["now", "12 s ago", "3 min ago", "2 h ago", "2 d ago"]);
  });
  it("writes runs of numbers as ranges", () => expect(ranges([9, 0, 1, 2, 7, 10, 7])).toBe("0–2, 7, 9–10"));
});

it.each([
  ["Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B"],
  ["smollm2", "smollm2"],
  ["/models/mine/", "mine"],
  ["/", "/"],
])("the model %s is called %s", (model, name) => expect(modelName(model)).toBe(name));
