import { expect, test } from "vitest";
import { statOf } from "./cells";
import { RunData } from "./data";
import { event, generation, health, metrics, record } from "./made";
import { Reducer } from "./reducer";

function lossAt(data: RunData, step: number, layer: number): number | undefined {
  const cell = data.steps.layersAt(step)?.get(layer);
  return cell && statOf(cell, "loss")?.mean;
}

test("records are summed by step and layer, one an event or many", () => {
  const reducer = new Reducer();
  const batch = [record(1, 0, 0, { reconstruction_loss: 30 }), record(1, 4, 15)];
  reducer.hear([event(record(1, 0, 0)), event(batch)], 5);
  expect(lossAt(reducer.data, 1, 0)).toBe(20);
  expect(lossAt(reducer.data, 1, 15)).toBe(10);
  expect(reducer.data.counts).toEqual({ records: 3, heartbeats: 0, bad: 0 });
});

test("a page that applies every delta knows what the worker knows, and so does one that comes late", () => {
  const reducer = new Reducer();
  const early = new RunData();
  for (let step = 1; step <= 40; step++) {
    reducer.hear([event([record(step, 0, 0), record(step, 700 * step, 15)]), event(metrics(step), "metrics")], step);
    reducer.hear([event(generation(step, 0), "generation"), event(health(step), "health")], step);
    if (step % 3 === 0) early.apply(reducer.take());
  }
  early.apply(reducer.take());
  const late = new RunData();
  late.apply(reducer.all());
  for (const page of [early, late]) {
    expect(page.steps.rows()).toEqual(reducer.data.steps.rows());
    expect(page.tokens.rows()).toEqual(reducer.data.tokens.rows());
    expect(page.metrics.all()).toEqual(reducer.data.metrics.all());
    expect(page.generations.all()).toEqual(reducer.data.generations.all());
    expect(page.tops.of(15).at(-1)?.features).toEqual([7, 3]);
    expect(page.lastId).toBe(reducer.data.lastId);
  }
});

test("a completion that is learnt from a second time is still one", () => {
  const reducer = new Reducer();
  reducer.hear([event(generation(1, 0), "generation")], 1);
  reducer.hear([event({ ...generation(1, 0), step: 2, pass: 2 }, "generation")], 2);
  expect(reducer.data.generations.all().map((line) => line.step)).toEqual([1]);
});

test("a trainer that resumed replaces the steps it does again", () => {
  const reducer = new Reducer();
  const page = new RunData();
  reducer.hear([1, 2, 3].map((step) => event(record(step, 0, 0))), 1);
  reducer.hear([event(metrics(3), "metrics")], 1);
  page.apply(reducer.take());
  reducer.hear([event(record(2, 0, 0, { reconstruction_loss: 99 })), event(metrics(2, 0.9), "metrics")], 2);
  page.apply(reducer.take());
  expect([...page.steps.columns()]).toEqual([1, 2]);
  expect(lossAt(page, 2, 0)).toBe(99);
  expect(page.metrics.all().map((line) => line.iteration)).toEqual([2]);
});

test("a file that was replaced is read from its start without being counted twice", () => {
  const reducer = new Reducer();
  reducer.hear([event(record(0, 0, 0)), event(record(0, 1, 0))], 1);
  reducer.hear([event({ source: "live", path: "x", reason: "the file was replaced" }, "source")], 2);
  reducer.hear([event(record(0, 0, 0, { reconstruction_loss: 4 }))], 3);
  const cell = reducer.data.steps.layersAt(0)?.get(0);
  expect(cell && statOf(cell, "loss")).toMatchObject({ count: 1, mean: 4 });
});

test("every kind of event leaves a trace", () => {
  const reducer = new Reducer();
  reducer.hear([event({ reason: "no live log and no checkpoint yet" }, "idle")], 1);
  reducer.hear([event({ reason: "no live log and no checkpoint yet" }, "idle")], 2);
  expect(reducer.data.idle).toBe("no live log and no checkpoint yet");
  reducer.hear([event({ source: "snapshot:checkpoint-50", path: "x" }, "source")], 3);
  expect(reducer.data.source).toBe("snapshot:checkpoint-50");
  expect(reducer.data.idle).toBeNull();
  reducer.hear([event({ step: 100, checkpoint: "checkpoint-100" }, "checkpoint"), event("{}", "heartbeat")], 4);
  expect(reducer.data.counts.heartbeats).toBe(1);
  expect(reducer.data.heardAt).toBe(4);
  expect(reducer.data.notices.map((notice) => [notice.kind, notice.step])).toEqual([
    ["idle", null],
    ["source", null],
    ["checkpoint", 100],
  ]);
});

test("what is no record is counted and changes nothing", () => {
  const reducer = new Reducer();
  reducer.hear([event("not json"), event({ step: 1 }), event([record(1, 0, 0), 7]), event({ a: 1 }, "later")], 1);
  expect(reducer.data.counts).toEqual({ records: 1, heartbeats: 0, bad: 3 });
});

test("memory is bounded: of five thousand steps, the newest thousand stay", () => {
  const reducer = new Reducer();
  for (let step = 0; step < 5_000; step++) {
    reducer.hear([event([record(step, 0, 0), record(step, 100, 0)]), event(metrics(step), "metrics")], step);
    if (step % 100 === 0) reducer.take();
  }
  expect(reducer.data.steps.size).toBe(1024);
  expect(reducer.data.metrics.size).toBe(4096);
  expect(reducer.data.newestStep).toBe(4_999);
});

test("lag is from writing to arrival, and history has none", () => {
  const reducer = new Reducer();
  reducer.hear([event(health(1, { time: 100 }), "health")], 100_250);
  expect(reducer.data.lag).toBeCloseTo(0.25);
  reducer.hear([event(health(2, { time: 100 }), "health")], 500_000);
  expect(reducer.data.lag).toBeNull();
});
