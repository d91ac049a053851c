import { expect, it } from "vitest";
import { lookup } from "../colors";
import { scaleOf } from "../scale";
import { paintColumn } from "./bitmap";

it("a column is painted last row first, by the scale, and clear where there is no number", () => {
  const table = lookup("diverging", "light");
  const pixels = new Uint32Array(4);
  paintColumn(Float32Array.from([-1, 0, 1, Number.NaN]), scaleOf([-1, 1], 0), table, pixels);
  expect([...pixels]).toEqual([0, table[256], table[128], table[0]]);
});
