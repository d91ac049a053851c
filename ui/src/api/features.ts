/** One feature: where it was active in a run, and the notes that are kept with it. */

import { api, read } from "./client";
import type { components } from "./schema.generated";

type Schemas = components["schemas"];

export type FeatureInRun = Schemas["FeatureInRun"];
export type RunSnippet = Schemas["RunSnippet"];
export type NoteList = Schemas["NoteList"];

export function featureInRun(run: string, layer: number, feature: number, signal: AbortSignal): Promise<FeatureInRun> {
  return read(api.GET("/api/p5/feature", { params: { query: { run, layer, feature } }, signal }));
}

export function notesOf(run: string, signal: AbortSignal): Promise<NoteList> {
  return read(api.GET("/api/p5/notes", { params: { query: { run } }, signal }));
}

export function keepNote(run: string, layer: number, feature: number, text: string): Promise<NoteList> {
  return read(api.PUT("/api/p5/notes", { params: { query: { run, layer, feature } }, body: { text } }));
}
