import { describe, expect, it } from "vitest";
import { MISSING_CELL, RingGrid } from "./ring";

describe("a ring of columns", () => {
  it("keeps the newest columns and forgets the oldest", () => {
    const grid = new RingGrid(2, 3);
    for (let n = 0; n < 5; n++) grid.push([n, 10 + n]);
    expect(grid.length).toBe(3);
    expect([0, 1, 2].map((column) => grid.get(0, column))).toEqual([2, 3, 4]);
    expect(grid.get(1, 2)).toBe(14);
    expect(grid.pushed).toBe(5);
  });
  it("says which stored columns changed since a version", () => {
    const grid = RingGrid.whole(1, 4);
    const before = grid.version;
    grid.set(0, 2, 7);
    const changed = [0, 1, 2, 3].filter((slot) => grid.changedAt(slot) > before);
    expect(changed).toEqual([2]);
  });
  it("ignores what is outside", () => {
    const grid = RingGrid.whole(1, 1);
    grid.set(3, 0, 1);
    grid.set(0, 3, 1);
    expect([...grid.finite()]).toEqual([]);
  });
  it("tells numbers from cells that are pending or will never have one", () => {
    const grid = RingGrid.from(1, 3, (_, column) => [5, Number.NaN, MISSING_CELL][column] ?? 0);
    expect([...grid.finite()]).toEqual([5]);
  });
});
