import { expect, test } from "vitest";
import { addRecord, recordsOf, statOf } from "./cells";
import { Timeline } from "./timeline";

test("a spike keeps its height however wide columns become", () => {
  const timeline = new Timeline(4, "widen");
  for (let token = 0; token < 64; token++) {
    addRecord(timeline.touch(token, 0), 1, token === 33 ? 900 : 2, 16);
  }
  expect(timeline.level).toBe(4);
  expect(timeline.size).toBe(4);
  const cell = timeline.layersAt(2)?.get(0);
  expect(cell && statOf(cell, "loss")).toEqual({ count: 16, mean: (15 * 2 + 900) / 16, low: 2, high: 900 });
});

test("the newest steps stay, the oldest go", () => {
  const timeline = new Timeline(3, "drop");
  for (let step = 1; step <= 10; step++) addRecord(timeline.touch(step, 0), 1, 1, 1);
  expect([...timeline.columns()]).toEqual([8, 9, 10]);
});

test("a value that is missing counts as a record, and not as a value", () => {
  const timeline = new Timeline(3, "drop");
  addRecord(timeline.touch(1, 0), null, null, 0);
  const cell = timeline.layersAt(1)?.get(0);
  expect(cell && recordsOf(cell)).toBe(1);
  expect(cell && statOf(cell, "loss")).toBeNull();
});

test("rows put into another timeline are the same cells", () => {
  const one = new Timeline(8, "drop");
  addRecord(one.touch(3, 15), 4, 20, 16);
  addRecord(one.touch(3, 15), 6, 30, 16);
  const other = new Timeline(8, "drop");
  other.put(one.takeChanged());
  expect(other.layersAt(3)?.get(15)).toEqual(one.layersAt(3)?.get(15));
  expect(one.takeChanged()).toHaveLength(0);
});
