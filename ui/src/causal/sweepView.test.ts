import { describe, expect, it } from "vitest";
import type { SweepCell, SweepEvent, SweepStart } from "../api/types";
import { EMPTY_VIEW, isOver, reduceSweep, type SweepView } from "./sweepView";

const START: SweepStart = {
  type: "start",
  layers: [4, 5],
  positions: [1, 3, 6],
  hook: "post_block",
  hooks: ["post_block", "mlp_out"],
  metric: "logprob",
  auto_captured: true,
  captured_source_run: "r",
  cells: 12,
  corrupt: -3,
  tokens: { prompt: ["a", "b"], clean: ["c"] },
};
const cell = (layer: number, position: number, value: number | null, more: Partial<SweepCell> = {}): SweepCell => ({
  type: "cell",
  hook: "post_block",
  layer,
  position,
  value,
  ...more,
});
const after = (...events: SweepEvent[]): SweepView => reduceSweep(EMPTY_VIEW, events);

describe("a sweep", () => {
  it("begins with its axes and no numbers", () => {
    const view = after(START);
    expect(view.axes?.hooks).toEqual(["post_block", "mlp_out"]);
    expect(view.values.mlp_out).toHaveLength(6);
    expect(view.values.mlp_out?.every(Number.isNaN)).toBe(true);
    expect([view.cells, view.done, isOver(view)]).toEqual([12, 0, false]);
  });
  it("has the zero of its scale before its first cell", () => {
    expect(after(START).axes?.baseline).toBe(-3);
    expect(after({ ...START, metric: "recovered" }).axes?.baseline).toBe(0);
    const older = Object.fromEntries(Object.entries(START).filter(([name]) => name !== "corrupt")) as SweepStart;
    expect(after(older).axes?.baseline).toBeNull();
  });
  it("puts each cell in its place, in whatever order they come", () => {
    const view = after(START, cell(5, 6, -2), cell(4, 3, -1), cell(4, 1, 0.5, { hook: "mlp_out" }));
    expect([...(view.values.post_block ?? [])]).toEqual([Number.NaN, -1, Number.NaN, Number.NaN, Number.NaN, -2]);
    expect(view.values.mlp_out?.[0]).toBe(0.5);
    expect(view.done).toBe(3);
  });
  it("is the same in one batch and in many", () => {
    const events = [START, cell(5, 6, -2), cell(4, 3, -1)];
    const bit = events.reduce((view, event) => reduceSweep(view, [event]), EMPTY_VIEW);
    expect(bit).toEqual(after(...events));
  });
  it("never changes an earlier state", () => {
    const before = after(START);
    reduceSweep(before, [cell(4, 1, 9)]);
    expect(before.values.post_block?.every(Number.isNaN)).toBe(true);
  });
  it("counts a cell that is voided later once, and keeps the reason", () => {
    const view = after(START, cell(4, 1, -1), cell(4, 1, null, { error: "not applied" }));
    expect(view.done).toBe(1);
    expect(view.values.post_block?.[0]).toBe(Number.POSITIVE_INFINITY);
    expect(view.reasons).toEqual({ "post_block/4/1": "not applied" });
  });
  it("ignores cells outside its axes, and cells before them", () => {
    expect(after(START, cell(9, 1, 1), cell(4, 2, 1)).done).toBe(0);
    expect(after(cell(4, 1, 1))).toEqual(EMPTY_VIEW);
  });
  it("ends with an error where there is one, keeping the cells", () => {
    const view = after(START, cell(4, 1, 1), { type: "error", error: "out of memory" });
    expect([view.failure, view.done, isOver(view)]).toEqual(["out of memory", 1, true]);
  });
  it("begins anew when it is sent from the start again", () => {
    expect(reduceSweep(after(START, cell(4, 1, 1)), [START])).toEqual(after(START));
  });
});
