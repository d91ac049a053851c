/**
 * What the server knows of a run as a whole: it reads the files once and answers at once, however
 * long the run is.
 */

import { api, read } from "./client";
import type { components } from "./schema.generated";

type Schemas = components["schemas"];

export type Tile = Schemas["Tile"];
export type Measure = Tile["measure"];
export type Curves = Schemas["Curves"];
export type Series = Schemas["Series"];
export type AlarmSpan = Schemas["AlarmSpan"];
export type Overview = Schemas["Overview"];
export type Scatter = Schemas["Scatter"];
export type Correlation = Schemas["Correlation"];
export type ChangedAnswer = Schemas["ChangedAnswer"];
export type Changed = Schemas["Changed"];
export type FeatureMove = Schemas["FeatureMove"];
export type LayerMove = Schemas["LayerMove"];
export type TokenGain = Schemas["TokenGain"];
export type Vocabulary = Schemas["Vocabulary"];
export type VocabularyFeature = Schemas["VocabularyFeature"];
export type GenerationPage = Schemas["GenerationPage"];
export type GenerationRow = Schemas["GenerationRow"];
export type GenerationView = Schemas["GenerationView"];
export type TokenFeatures = Schemas["TokenFeatures"];
export type FeatureCards = Schemas["FeatureCards"];
export type Feature = Schemas["Feature"];
export type Snippet = Schemas["Snippet"];

/** Some time, in at most so many columns; without ends, all of it. */
export interface Stretch {
  readonly from?: number;
  /** The one after the last. */
  readonly to?: number;
  readonly columns: number;
}

export function overview(run: string, signal: AbortSignal): Promise<Overview> {
  return read(api.GET("/api/p5/analytics/overview", { params: { query: { run } }, signal }));
}

export function layerTile(run: string, measure: Measure, stretch: Stretch, signal: AbortSignal): Promise<Tile> {
  const query = { run, measure, ...stretch };
  return read(api.GET("/api/p5/analytics/layers", { params: { query }, signal }));
}

/** A layer's most active features of a stretch. */
export function featureTile(
  run: string,
  layer: number,
  top: number,
  stretch: Stretch,
  signal: AbortSignal,
): Promise<Tile> {
  const query = { run, layer, top, by: "sum" as const, ...stretch };
  return read(api.GET("/api/p5/analytics/features", { params: { query }, signal }));
}

/** One feature over the whole run. */
export function featureActivity(
  run: string,
  layer: number,
  feature: number,
  columns: number,
  signal: AbortSignal,
): Promise<Tile> {
  const query = { run, layer, features: String(feature), columns };
  return read(api.GET("/api/p5/analytics/features", { params: { query }, signal }));
}

export function rewards(run: string, stretch: Stretch, signal: AbortSignal): Promise<Curves> {
  return read(api.GET("/api/p5/analytics/rewards", { params: { query: { run, ...inclusive(stretch) } }, signal }));
}

export function sidecarHealth(run: string, stretch: Stretch, signal: AbortSignal): Promise<Curves> {
  return read(api.GET("/api/p5/analytics/health", { params: { query: { run, ...inclusive(stretch) } }, signal }));
}

export function telemetry(run: string, stretch: Stretch, signal: AbortSignal): Promise<Curves> {
  return read(api.GET("/api/p5/analytics/telemetry", { params: { query: { run, ...inclusive(stretch) } }, signal }));
}

export function scatter(run: string, layer: number, points: number, signal: AbortSignal): Promise<Scatter> {
  return read(api.GET("/api/p5/analytics/scatter", { params: { query: { run, layer, points } }, signal }));
}

/** Of the newest `n` generations that passed, or of all of the run. */
export function vocabulary(
  run: string,
  layer: number | null,
  n: number | null,
  limit: number,
  signal: AbortSignal,
): Promise<Vocabulary> {
  const query = { run, limit, ...(layer !== null && { layer }), ...(n !== null && { n }) };
  return read(api.GET("/api/p5/analytics/vocabulary", { params: { query }, signal }));
}

/** What `sonde runs changed` has found between two checkpoints: the longest way to the last one. */
export function changed(run: string, signal: AbortSignal): Promise<ChangedAnswer> {
  return read(api.GET("/api/p5/analytics/changed", { params: { query: { run } }, signal }));
}

export function generations(run: string, limit: number, signal: AbortSignal): Promise<GenerationPage> {
  return read(api.GET("/api/p5/analytics/generations", { params: { query: { run, limit } }, signal }));
}

export function generation(run: string, id: string, signal: AbortSignal): Promise<GenerationView> {
  return read(api.GET("/api/p5/analytics/generation", { params: { query: { run, id } }, signal }));
}

/** Without a run, of the dictionary that comes with the model. */
export function featureCards(
  run: string | null,
  layer: number,
  features: readonly number[],
  signal: AbortSignal,
): Promise<FeatureCards> {
  const params = { path: { layer }, query: { ...(run !== null && { run }), features: features.join(",") } };
  return read(api.GET("/api/saes/{layer}", { params, signal }));
}

/** Curves count steps from the first to the last. */
function inclusive({ from, to, columns }: Stretch): { from?: number; to?: number; columns: number } {
  return { columns, ...(from !== undefined && { from }), ...(to !== undefined && { to: to - 1 }) };
}
