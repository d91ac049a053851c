import { expect, it } from "vitest";
import type { SweepTable } from "../api/types";
import { difference } from "./compare";
import { bothSteps, changesAt, drawn, isCourse, isWithinNoise, leftOut, stepsOf } from "./course";

const axis = (name: string, values: (string | number)[], labels = values.map(String)) => ({ name, values, labels });
const record = (step: number, logprob: number, floor = 0) => ({ step, corrupt: { logprob }, clean: null, noise_floor: { logprob: floor } });
const FOUND = {
  tables: [
    {
      hook: "post_block",
      axes: [axis("checkpoint", [10, 20]), axis("layer", [4, 5]), axis("position", [1, 2], [" a", " b"])],
      values: { logprob: [-5, -5.5, -4, -5, -2.5, -2, null, -4] },
    },
    { hook: "post_block", kind: "random_direction", axes: [axis("checkpoint", [10, 20]), axis("draw", [0])], values: { logprob: [9, 9] } },
  ],
  metric: "logprob",
  corrupt: { logprob: -2 },
  checkpoints: [record(10, -5, 0.5), record(20, -2)],
} as unknown as SweepTable;

const picture = drawn(FOUND);

it("a picture has changes from each step's own zero, over positions the farthest with its sign", () => {
  expect(picture.tables).toHaveLength(1);
  expect(picture.tables[0]?.axes.map(({ name, values }) => [name, values])).toEqual([["checkpoint", [10, 20]], ["layer", [4, 5]]]);
  expect(picture.tables[0]?.values.logprob).toEqual([-0.5, 1, -0.5, -2]);
  expect(picture.corrupt).toEqual({ logprob: 0 });
});
it("is hatched within the noise floor of its own step", () => {
  const noisy = isWithinNoise(FOUND, picture);
  const at = (row: number, column: number) => noisy({ panel: 0, row, column });
  expect([at(0, 0), at(0, 1), at(1, 0)]).toEqual([true, false, false]);
});
it("of features shows that of changing one everywhere, and joins layer and head", () => {
  const axes = [axis("checkpoint", [10, 20]), axis("feature", [7], ["15:7"]), axis("position", [1, "everywhere"])];
  const features = drawn({ ...FOUND, tables: [{ hook: "post_block", axes, values: { logprob: [-9, -5.5, -9, -2] } }] } as unknown as SweepTable);
  expect(features.tables[0]?.values.logprob).toEqual([-0.5, 0]);
  const heads = [axis("checkpoint", [10, 20]), axis("layer", [4, 5]), axis("head", [0, 1])];
  const joined = drawn({ ...FOUND, tables: [{ ...FOUND.tables[0], axes: heads }] } as SweepTable);
  expect(joined.tables[0]?.axes[1]?.labels).toEqual(["4.0", "4.1", "5.0", "5.1"]);
});
it("of many columns has those that ever do most, in their order, and says how many it lacks", () => {
  const values = [...Array.from({ length: 50 }, (_, n) => -5 + n / 100), ...Array.from({ length: 50 }, () => -2)];
  const wide = { ...FOUND, tables: [{ hook: "z", axes: [axis("checkpoint", [10, 20]), axis("feature", Array.from({ length: 50 }, (_, n) => n))], values: { logprob: values } }] } as unknown as SweepTable;
  const made = drawn(wide);
  expect(made.tables[0]?.axes[1]?.values).toEqual(Array.from({ length: 40 }, (_, n) => n + 10));
  expect(leftOut(wide, made)).toBe(10);
  expect(leftOut(FOUND, picture)).toBe(0);
});
it("two steps differ by their changes, not by what their unpatched prompts differ in", () => {
  const [late, early] = [changesAt(FOUND, 20), changesAt(FOUND, 10)];
  expect(late?.tables[0]?.values.logprob).toEqual([-0.5, 0, null, -2]);
  const made = late && early && difference(late, early);
  expect(made?.found.tables[0]?.values.logprob).toEqual([-0.5, 0.5, null, -2]);
  expect(changesAt(FOUND, 15)).toBeNull();
});
it("an address names two steps; without them it is the last against the first", () => {
  const of = (query: string) => bothSteps(new URLSearchParams(query), [10, 20, 30]);
  expect(of("")).toEqual({ step: 30, against: 10 });
  expect(of("step=10")).toEqual({ step: 10, against: 30 });
  expect(of("step=20&against=30")).toEqual({ step: 20, against: 30 });
  expect(of("step=99")).toEqual({ step: 30, against: 10 });
  expect(bothSteps(new URLSearchParams(), [10])).toBeNull();
});
it("is told by its first axis", () => {
  expect(isCourse(FOUND)).toBe(true);
  expect(isCourse(picture as SweepTable)).toBe(true);
  expect(isCourse({ tables: [] })).toBe(false);
  expect(stepsOf(FOUND)).toEqual([10, 20]);
});
