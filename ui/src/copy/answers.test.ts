import { expect, it, vi } from "vitest";
import type { FeatureCards, Tile } from "../api/analytics";
import { api, read } from "../api/client";
import { answerFromCopy, answerOf, NOT_COPIED } from "./answers";
import type { RunCopy } from "./copied";

const TILE = {
  rows: [7, 9],
  records: [[3, 3]],
  count: [
    [1, 2],
    [3, 0],
  ],
  mean: [
    [0.5, 1],
    [2, null],
  ],
  low: [
    [0.5, 1],
    [2, null],
  ],
  high: [
    [0.5, 1],
    [2, null],
  ],
} as unknown as Tile;
const OTHER = { ...TILE, rows: [11, 12] };
const CARDS = { layer: 3, dictionary: "d", features: [{ feature: 7 }, { feature: 11 }], reason: null } as unknown as FeatureCards;
const COPY = {
  overview: { run: "it" },
  layers: { loss: { measure: "loss" }, activation: { measure: "activation" } },
  features: { "3": [TILE, OTHER] },
  vocabulary: { layer: null },
  layer_vocabulary: { "3": { layer: 3 } },
  scatter: { "3": { layer: 3 } },
  changed: { known: [[0, 20]] },
  views: { "1-0": { more: false } },
  cards: { "3": CARDS },
} as unknown as RunCopy;

const ask = (address: string) => answerOf(COPY, new URL(address, "file:///home/somebody/run.html"));
const ANALYTICS = "/api/p5/analytics";

it.each([
  ["/overview?run=it", { run: "it" }],
  ["/layers?run=it&measure=activation&columns=99&from=2&to=5", { measure: "activation" }],
  ["/vocabulary?run=it&limit=25", { layer: null }],
  ["/vocabulary?run=it&limit=25&layer=3", { layer: 3 }],
  ["/changed?run=it", { known: [[0, 20]] }],
  ["/scatter?run=it&layer=3", { layer: 3 }],
  ["/scatter?run=it&layer=4", null],
  ["/generation?run=it&id=1-0", { more: false }],
  ["/generation?run=it&id=9-9", null],
  ["/elsewhere", null],
])("%s is answered from the copy", (path, answer) => expect(ask(ANALYTICS + path)).toEqual(answer));

it("a layer's features are its tile; one that is named is its row, from whichever tile has it", () => {
  expect(ask(`${ANALYTICS}/features?layer=3&top=16`)).toEqual(TILE);
  expect(ask(`${ANALYTICS}/features?layer=3&features=9`)).toMatchObject({ rows: [9], count: [[3, 0]], mean: [[2, null]] });
  expect(ask(`${ANALYTICS}/features?layer=3&features=12`)).toMatchObject({ rows: [12], records: [[3, 3]] });
  expect(ask(`${ANALYTICS}/features?layer=3&features=8`)).toBeNull();
});

it("cards are those that were asked for, or the reason why there are none", () => {
  expect(ask("/api/saes/3?run=it&features=11")).toMatchObject({ features: [{ feature: 11 }], reason: null });
  expect(ask("/api/saes/3?run=it&features=5")).toMatchObject({ features: [], reason: NOT_COPIED });
  expect(ask("/api/saes/4?run=it&features=5")).toBeNull();
});

it("the page's own questions are answered, and what is missing is said", async () => {
  vi.stubGlobal("sessionStorage", { getItem: () => null });
  answerFromCopy(COPY);
  const options = { baseUrl: "https://nobody.invalid", params: { query: { run: "it" } } };
  await expect(read(api.GET("/api/p5/analytics/overview", options))).resolves.toEqual({ run: "it" });
  const absent = { ...options, params: { query: { run: "it", id: "9-9" } } };
  await expect(read(api.GET("/api/p5/analytics/generation", absent))).rejects.toThrow(NOT_COPIED);
});
