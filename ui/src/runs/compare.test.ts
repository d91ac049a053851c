import { describe, expect, it } from "vitest";
import type { Curves } from "../api/analytics";
import { MEASURES, overlaid, seriesOf } from "./compare";
import { sparkPath } from "./spark";

describe("a sparkline", () => {
  it("spans its box, and leaves gaps", () => {
    expect(sparkPath([0, 1], 100, 20)).toBe("M2.0 18.0L98.0 2.0");
    expect(sparkPath([1, null, 3, 2], 100, 20)).toBe("M2.0 18.0M66.0 2.0L98.0 10.0");
  });
  it("of one value, or of equal ones, is in the middle", () => {
    expect(sparkPath([5], 100, 20)).toBe("M50.0 10.0h0.1");
    expect(sparkPath([5, 5], 100, 20)).toBe("M2.0 10.0L98.0 10.0");
  });
});

const curves = (start: number, width: number, series: Record<string, (number | null)[]>, layer: number | null = null): Curves =>
  ({
    start,
    width,
    columns: Object.values(series)[0]?.length ?? 0,
    series: Object.entries(series).map(([name, mean]) => ({ name, layer, mean, low: mean, high: mean, count: mean.map(() => 1) })),
  }) as unknown as Curves;

describe("runs over one another", () => {
  it("share their steps, and have gaps where one has none", () => {
    const one = { run: "one", points: seriesOf(curves(1, 1, { rewards_mean: [0.1, 0.2] }), "rewards_mean") };
    const two = { run: "two", points: seriesOf(curves(0, 2, { rewards_mean: [0.5, 0.6] }), "rewards_mean") };
    expect(overlaid([one, two])).toEqual({
      x: [0, 1, 2],
      series: [
        { name: "one", mean: [null, 0.1, 0.2] },
        { name: "two", mean: [0.5, null, 0.6] },
      ],
    });
  });
  it("have reconstruction as a mean over their layers", () => {
    const both = { ...curves(1, 1, { fvu: [0.2, 0.4] }, 0) };
    const series = [...both.series, ...curves(1, 1, { fvu: [0.4, null] }, 15).series];
    const found = seriesOf({ ...both, series }, "fvu");
    expect([...found.keys()]).toEqual([1, 2]);
    expect(found.get(1)).toBeCloseTo(0.3);
    expect(found.get(2)).toBeCloseTo(0.4);
    expect(seriesOf(null, "fvu").size).toBe(0);
  });
  it("can show reward, reconstruction and any telemetry", () => {
    expect(MEASURES.map(({ name }) => name)).toEqual(expect.arrayContaining(["rewards_mean", "fvu", "kl", "entropy"]));
  });
});
