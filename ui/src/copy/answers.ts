/** What the server would answer, out of a copy of a run. Stretches of time are not cut: a copy has all of it. */

import type { Tile } from "../api/analytics";
import { answerFrom } from "../api/client";
import type { RunCopy } from "./copied";

/** A body, or null for what is not in the copy. */
export function answerOf(copy: RunCopy, { pathname, searchParams }: URL): unknown {
  const layer = searchParams.get("layer") ?? "";
  const at = <T>(by: Readonly<Record<string, T>>, key: string): T | null => by[key] ?? null;
  const [, dictionary] = /\/api\/saes\/(\d+)$/.exec(pathname) ?? [];
  if (dictionary !== undefined) return cardsOf(copy, dictionary, numbersIn(searchParams.get("features")));
  switch (pathname.replace(/^.*\/api\/p5\//, "")) {
    case "analytics/overview":
      return copy.overview;
    case "analytics/layers":
      return at(copy.layers, searchParams.get("measure") ?? "loss");
    case "analytics/features":
      return featuresOf(at(copy.features, layer) ?? [], numbersIn(searchParams.get("features")));
    case "analytics/rewards":
      return copy.rewards;
    case "analytics/health":
      return copy.health;
    case "analytics/telemetry":
      return copy.telemetry ?? null;
    case "analytics/scatter":
      return at(copy.scatter, layer);
    case "analytics/vocabulary":
      return layer === "" ? copy.vocabulary : at(copy.layer_vocabulary, layer);
    case "analytics/changed":
      return copy.changed ?? null;
    case "analytics/generations":
      return copy.generations;
    case "analytics/generation":
      return at(copy.views, searchParams.get("id") ?? "");
    default:
      return null;
  }
}

export const NOT_COPIED = "This is not in the copy; the run itself has it.";

/** From now on, every question is answered out of the copy, as it would be over a network. */
export function answerFromCopy(copy: RunCopy): void {
  answerFrom(({ url }) => {
    const body = answerOf(copy, new URL(url));
    const [status, sent] = body === null ? [404, { error: { message: NOT_COPIED } }] : [200, body];
    const headers = { "Content-Type": "application/json" };
    return Promise.resolve(new Response(JSON.stringify(sent), { status, headers }));
  });
}

/** The tile of a layer's strongest features, or rows of those that were named. */
function featuresOf(tiles: readonly Tile[], named: readonly number[]): Tile | null {
  if (named.length === 0) return tiles[0] ?? null;
  const tile = tiles.find(({ rows }) => named.every((feature) => rows.includes(feature)));
  if (tile === undefined) return null;
  const rows = named.map((feature) => tile.rows.indexOf(feature));
  const pick = <T>(values: readonly T[]): T[] => rows.flatMap((row) => values.slice(row, row + 1));
  const { count, mean, low, high } = tile;
  return { ...tile, rows: [...named], count: pick(count), mean: pick(mean), low: pick(low), high: pick(high) };
}

function cardsOf(copy: RunCopy, layer: string, named: readonly number[]): unknown {
  const found = copy.cards[layer];
  if (found === undefined) return null;
  const features = found.features.filter(({ feature }) => named.includes(feature));
  const reason = features.length === 0 ? (found.reason ?? NOT_COPIED) : null;
  return { ...found, features, reason };
}

function numbersIn(text: string | null): number[] {
  return text === null ? [] : text.split(",").map(Number);
}
