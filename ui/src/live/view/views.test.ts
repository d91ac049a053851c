import { expect, test } from "vitest";
import type { Curves, Tile } from "../../api/analytics";
import { event, metrics, record } from "../stream/made";
import { Reducer } from "../stream/reducer";
import { readAddress, writeAddress } from "./address";
import { rewardView } from "./curves";
import { MISSING_CELL, RingGrid } from "../../widgets/heatmap/ring";
import { featureView, layerView, sharesOfRows } from "./grids";
import { spikesOf } from "./spikes";
import { axisOf, columnLabels, columnName, following, rangeOf, windowOfQuery, zoomedIn, zoomedOut } from "./window";

const COVERAGE = { complete: true, bytes_read: 1, bytes_total: 1, records: 1, withheld: 0 };

function tile(values: Partial<Tile>): Tile {
  return {
    coverage: COVERAGE,
    axis: "layer",
    measure: "loss",
    layer: null,
    unit: "step",
    step: null,
    level: 0,
    start: 0,
    width: 1,
    columns: 4,
    rows: [0],
    records: [[2, 2, 2, 2]],
    count: [[2, 2, 2, 2]],
    mean: [[1, 2, 3, 4]],
    low: [[1, 1, 1, 1]],
    high: [[1, 9, 3, 5]],
    reason: null,
    ...values,
  };
}

function heard(...records: Parameters<typeof record>[]): Reducer["data"] {
  const reducer = new Reducer();
  reducer.hear([event(records.map((each) => record(...each)))], 1);
  reducer.take();
  return reducer.data;
}

test("columns are powers of two wide and start at multiples of that", () => {
  expect(axisOf({ from: 5, to: 25 }, 100)).toEqual({ level: 0, width: 1, start: 5, columns: 20 });
  const axis = axisOf({ from: 5, to: 25 }, 6);
  expect(axis).toEqual({ level: 2, width: 4, start: 4, columns: 6 });
  expect(columnName(axis, 1)).toBe("8\u201311");
});

test("zooming in and out comes back, and following keeps the length", () => {
  const extent = { first: 0, last: 99 };
  const near = zoomedIn({ kind: "all" }, extent, null);
  expect(near).toEqual({ kind: "last", n: 50 });
  expect(zoomedOut(near, extent)).toEqual({ kind: "all" });
  const around = zoomedIn({ kind: "all" }, extent, 30);
  expect(around).toEqual({ kind: "fixed", from: 5, to: 55 });
  expect(following(around, extent)).toEqual({ kind: "last", n: 50 });
  expect(rangeOf(near, { first: 0, last: 199 })).toEqual({ from: 150, to: 200 });
});

test("a run of eight steps zooms down to two, and back", () => {
  const extent = { first: 1, last: 8 };
  const [four, two] = [zoomedIn({ kind: "all" }, extent, null), zoomedIn({ kind: "last", n: 4 }, extent, null)];
  expect([four, two]).toEqual([{ kind: "last", n: 4 }, { kind: "last", n: 2 }]);
  expect(zoomedIn(two, extent, null)).toEqual(two);
  expect(zoomedIn({ kind: "all" }, extent, 6)).toEqual({ kind: "fixed", from: 4, to: 8 });
  expect(zoomedOut(two, extent)).toEqual({ kind: "last", n: 4 });
});

test("labels of the token axis are never cut: fewer of them where they are long, none that would reach over the end", () => {
  const axis = axisOf({ from: 0, to: 1_048_576 }, 64);
  const { labels, most } = columnLabels(axis, 320, 14);
  expect(labels[0]).toBe("0");
  expect(labels).toContain("524,288");
  expect(labels.at(-1)).toBe("");
  expect(most).toBeLessThanOrEqual(320 / (7 * 6));
  const cell = 320 / axis.columns;
  for (const [column, label] of labels.entries()) expect(column * cell + 6 * label.length).toBeLessThanOrEqual(320);
  expect(columnLabels(axisOf({ from: 1, to: 9 }, 64), 800, 14)).toEqual({ labels: ["1", "2", "3", "4", "5", "6", "7", "8"], most: 14 });
});

test("a tile and the stream are put together: the one that saw more of a cell is believed", () => {
  const data = heard([2, 0, 0, { reconstruction_loss: 50 }], [3, 0, 0], [3, 1, 0], [3, 2, 0, { reconstruction_loss: 70 }], [4, 0, 0]);
  const view = layerView(tile({}), data, "step", axisOf({ from: 0, to: 5 }, 10), "loss", "high");
  expect([0, 1, 2, 3, 4].map((column) => view.grid.get(0, column))).toEqual([1, 9, 3, 70, 10]);
});

test("a coarser axis keeps spikes of tile and stream", () => {
  const data = heard([4, 0, 0, { reconstruction_loss: 80 }], [5, 0, 0]);
  const view = layerView(tile({}), data, "step", axisOf({ from: 0, to: 8 }, 4), "loss", "high");
  expect([0, 1, 2].map((column) => view.grid.get(0, column))).toEqual([9, 5, 80]);
  expect(view.at(0, 0).stat?.mean).toBe(1.5);
});

test("without a tile, a layer's features are the stream's own, strongest on top", () => {
  const data = heard([1, 0, 15], [2, 0, 15, { top_feature_indices: [9], top_feature_activations: [50] }]);
  const view = featureView(null, data, "step", 15, axisOf({ from: 1, to: 3 }, 10), 2);
  expect(view.rows).toEqual([7, 9]);
  expect(view.grid.get(1, 1)).toBe(50);
  expect(view.grid.get(1, 0)).toBeNaN();
});

test("lines after the server's curve come from the stream, none twice", () => {
  const one = { name: "rewards_mean", layer: null, count: [1, 1], mean: [0.1, 0.2], low: [0.1, 0.2], high: [0.1, 0.2] };
  const curves: Curves = {
    coverage: COVERAGE,
    start: 1,
    width: 1,
    columns: 2,
    first_step: 1,
    last_step: 2,
    series: [one],
    alarms: [],
    reason: null,
  };
  const view = rewardView(curves, [metrics(1), metrics(2), metrics(3, 0.9)]);
  expect(view.x).toEqual([1, 2, 3]);
  expect(view.series[0]?.mean).toEqual([0.1, 0.2, 0.9]);
  expect(view.series[0]?.high?.[2]).toBe(0.9); // quantiles are the server's to know
});

test("a spike is flagged, a slow rise and the first columns are not", () => {
  const calm = Array.from({ length: 40 }, (_, step) => 100 + (step % 5));
  expect(spikesOf([...calm, 500, ...calm])).toEqual([40]);
  expect(spikesOf(calm.map((value, step) => value + step))).toEqual([]);
  expect(spikesOf([1, 900, 1, 1])).toEqual([]);
  expect(spikesOf([...Array.from({ length: 20 }, () => 5), null, 9])).toEqual([21]);
});

test("what comes again every 14 tokens is a period, and no spike", () => {
  const periodic = Array.from({ length: 140 }, (_, token) => (token % 14 === 0 ? 900 : 100 + (token % 5)));
  expect(spikesOf(periodic)).toEqual([]);
  expect(spikesOf([...periodic, 9_000])).toEqual([140]);
});

test("the address restores what it was made from", () => {
  const change = {
    window: { kind: "fixed", from: 3, to: 90 },
    layer: 15,
    measure: "loss",
    ownScales: false,
    height: "mean",
    fit: "l0",
    generation: "3-1",
    feature: { layer: 15, feature: 4071 },
    words: 64,
    test: "a1-b",
    list: { gate: "failed", by: "advantage", find: "made of", grouped: true },
  } as const;
  const address = writeAddress("/live/a?run=b", change);
  expect(readAddress(new URLSearchParams(address.split("?")[1]))).toEqual(change);
  expect(writeAddress(address, { layer: null, window: { kind: "all" }, feature: null })).not.toMatch(/layer=|from=|feature=/);
  expect(windowOfQuery(new URLSearchParams("from=9&to=3&last=x"))).toEqual({ kind: "all" });
});

test("rows of very different size are each compared with themselves", () => {
  const values = [
    [1, 3, 2],
    [4000, MISSING_CELL, 2000],
    [7, 7, 7],
  ];
  const shares = sharesOfRows(RingGrid.from(3, 3, (row, column) => values[row]?.[column] ?? 0));
  const shown = values.map((row, at) => row.map((_, column) => shares.get(at, column)));
  expect(shown).toEqual([
    [0, 1, 0.5],
    [1, MISSING_CELL, 0],
    [0, 0, 0],
  ]);
});
