/** A feature over time, out of a tile of one row: only columns in which it was active. */

import type { Tile } from "../../api/analytics";
import type { LineSeries } from "../plot/timeOptions";

export function activityOf(tile: Tile): { x: number[]; series: LineSeries[] } {
  const columns = Array.from({ length: tile.columns }, (_, column) => column);
  const shown = columns.filter((column) => (tile.count[0]?.[column] ?? 0) > 0);
  const pick = (values: Tile["mean"]) => shown.map((column) => values[0]?.[column] ?? null);
  return {
    x: shown.map((column) => tile.start + column * tile.width),
    series: [{ name: "activation", mean: pick(tile.mean), low: pick(tile.low), high: pick(tile.high) }],
  };
}
