import { expect, it } from "vitest";
import type { SweepTable } from "../api/types";
import { EMPTY_VIEW, type SweepView } from "./sweepView";
import { wholeTable, wholeView } from "./whole";

const PIECES = ["<s>", "na\u00EFve", " \uFFFD", "\uFFFD", "\uFFFD", " \uFFFD", "\uFFFD", " b"];
const WHOLE = ["<s>", "na\u00EFve", " \u{1F99C}", "\u2026", "\u2026", " \u65E5", "\u2026", " b"];
const REQUEST = { prompt: "na\u00EFve \u{1F99C} \u65E5 b" };

it("a sweep shows characters whole, in its axes and in what is said of it", () => {
  const summary = { tokens: { prompt: PIECES } };
  const view = { ...EMPTY_VIEW, axes: { tokens: PIECES }, summary } as unknown as SweepView;
  expect(wholeView(view, REQUEST).axes?.tokens).toEqual(WHOLE);
  expect(wholeView(view, REQUEST).summary?.tokens.prompt).toEqual(WHOLE);
  expect(wholeView(view, {}).axes?.tokens).toEqual(PIECES);
  expect(wholeView(EMPTY_VIEW, REQUEST)).toBe(EMPTY_VIEW);
});
it("a table does too, where its axis is positions", () => {
  const axes = [{ name: "position", values: [5, 2, "everywhere"], labels: [" \uFFFD", " \uFFFD", "everywhere"] }, { name: "draw", values: [0], labels: ["0"] }];
  const found = { tables: [{ hook: "z", axes, values: {} }], tokens: { prompt: PIECES } } as unknown as SweepTable;
  const [table] = wholeTable(found, { corrupt: REQUEST.prompt }).tables;
  expect(table?.axes.map(({ labels }) => labels)).toEqual([[" \u65E5", " \u{1F99C}", "everywhere"], ["0"]]);
});
