/**
 * A sweep that is being prepared: what the form holds, as an address, as a request, and from a
 * sweep of the past. Everything here is a function.
 */

import type { Hook, Metric, Pairing, PatchSweepRequest, SweepRecord } from "../api/types";
import { ranges } from "../widgets/numbers";
import { courseOfQuery, EMPTY_COURSE, putCourse, type CourseDraft } from "./courseDraft";
import {
  EMPTY_EDGES,
  EMPTY_SCORED,
  edgesOfQuery,
  putEdges,
  putScored,
  scoredOfQuery,
  type EdgeDraft,
  type ScoredDraft,
} from "./edgeDraft";
import { EMPTY_FEATURES, featuresOfQuery, putFeatures, type FeatureDraft } from "./featureDraft";

/** What stands in the cells: sites of whole layers, single heads, features, edges; or scores to first order. */
export type Over = "sites" | "heads" | "features" | "edges" | "attribution";
export const OVERS: readonly Over[] = ["sites", "heads", "features", "edges", "attribution"];

export interface Draft {
  readonly over: Over;
  /** Instead of the two prompts: `agreement:40`, or `file:mine.jsonl`. */
  readonly pairs: string;
  readonly clean: string;
  readonly corrupt: string;
  /** The token's text, or `token_id:<id>`. */
  readonly answer: string;
  readonly foil: string;
  readonly metric: Metric;
  readonly hooks: readonly Hook[];
  /** `all`, or `0–4, 7`. */
  readonly layers: string;
  readonly positions: "all" | readonly number[];
  readonly pairing: Pairing;
  /** Null while nothing, or nothing that is a number, is written. */
  readonly alpha: number | null;
  readonly keep: boolean;
  /** A stored source run to take, instead of a new one. */
  readonly run: string;
  /** Of `edges`, and of an attribution to those. */
  readonly edges: EdgeDraft;
  /** Of `attribution`. */
  readonly scored: ScoredDraft;
  /** Of `features`. */
  readonly features: FeatureDraft;
  /** Through the checkpoints of a run. */
  readonly course: CourseDraft;
}

export const EMPTY_DRAFT: Draft = {
  over: "sites",
  pairs: "",
  clean: "",
  corrupt: "",
  answer: "",
  foil: "",
  metric: "logprob",
  hooks: ["post_block"],
  layers: "all",
  positions: "all",
  pairing: "strict",
  alpha: 1,
  keep: false,
  run: "",
  edges: EMPTY_EDGES,
  scored: EMPTY_SCORED,
  features: EMPTY_FEATURES,
  course: EMPTY_COURSE,
};

export const HOOKS: readonly Hook[] = ["pre_attn", "post_attn", "post_block", "mlp_in", "mlp_out"];
export const HEAD_HOOKS: readonly Hook[] = ["z", "q", "k", "v", "pattern"];
export const METRICS: readonly Metric[] = ["logprob", "logit_diff", "recovered"];
export const PAIRINGS: readonly Pairing[] = ["strict", "first", "last", "proportional", "mean"];

const TOKEN_ID = /^token_id:(\d+)$/;

/** Whether a draft names senders and receivers, instead of hooks. */
export function isOfEdges({ over, scored }: Draft): boolean {
  return over === "edges" || (over === "attribution" && scored.targets === "edges");
}

/** The query of an address that opens this draft; what is as usual is left out. */
export function queryOfDraft(draft: Draft): URLSearchParams {
  const query = new URLSearchParams();
  const put = (name: string, value: string, usual: string) => value !== usual && query.set(name, value);
  put("over", draft.over, EMPTY_DRAFT.over);
  put("pairs", draft.pairs, "");
  put("clean", draft.clean, "");
  put("corrupt", draft.corrupt, "");
  put("answer", draft.answer, "");
  put("foil", draft.foil, "");
  put("metric", draft.metric, EMPTY_DRAFT.metric);
  put("hooks", draft.hooks.join(","), EMPTY_DRAFT.hooks.join(","));
  put("layers", draft.layers, "all");
  put("positions", draft.positions === "all" ? "all" : draft.positions.join(","), "all");
  put("pairing", draft.pairing, EMPTY_DRAFT.pairing);
  put("alpha", draft.alpha === null ? "" : String(draft.alpha), "1");
  put("keep", draft.keep ? "1" : "", "");
  put("run", draft.run, "");
  if (isOfEdges(draft)) putEdges(query, draft.edges);
  if (draft.over === "attribution") putScored(query, draft.scored);
  if (draft.over === "features") putFeatures(query, draft.features);
  putCourse(query, draft.course);
  return query;
}

/** An address that opens Causal with this filled in: for other pages to link to. */
export function causalAddress(draft: Partial<Draft>): string {
  return `/causal?${queryOfDraft({ ...EMPTY_DRAFT, ...draft }).toString()}`;
}

/** The draft in an address; null when there is none. */
export function draftOfQuery(query: URLSearchParams): Draft | null {
  if (!query.has("clean") && !query.has("corrupt") && !query.has("pairs")) return null;
  const over = oneOf(OVERS, query.get("over")) ?? "sites";
  const positions = query.get("positions") ?? "all";
  const hooks = (query.get("hooks") ?? "").split(",");
  return {
    over,
    pairs: query.get("pairs") ?? "",
    clean: query.get("clean") ?? "",
    corrupt: query.get("corrupt") ?? "",
    answer: query.get("answer") ?? "",
    foil: query.get("foil") ?? "",
    metric: oneOf(METRICS, query.get("metric")) ?? EMPTY_DRAFT.metric,
    hooks: query.has("hooks") ? hooksOver(over).filter((hook) => hooks.includes(hook)) : EMPTY_DRAFT.hooks,
    layers: query.get("layers") ?? "all",
    positions: positions === "all" ? "all" : (parseNumbers(positions) ?? []),
    pairing: oneOf(PAIRINGS, query.get("pairing")) ?? EMPTY_DRAFT.pairing,
    alpha: numberIn(query.get("alpha") ?? "1"),
    keep: query.get("keep") === "1",
    run: query.get("run") ?? "",
    edges: query.has("senders") ? edgesOfQuery(query) : EMPTY_EDGES,
    scored: scoredOfQuery(query),
    features: over === "features" ? featuresOfQuery(query) : EMPTY_FEATURES,
    course: courseOfQuery(query),
  };
}

/** The draft that would repeat a sweep; null when its source is not a clean prompt. */
export function draftOfRecord(record: SweepRecord): Draft | null {
  const request = record.provenance.request as Partial<PatchSweepRequest>;
  if (typeof request.clean_prompt !== "string" || typeof request.prompt !== "string") return null;
  const layers = listedLayers(request.layers);
  const all = layers.length === record.provenance.n_layers;
  return {
    ...EMPTY_DRAFT,
    clean: request.clean_prompt,
    corrupt: request.prompt,
    answer: request.answer_token ?? idText(request.answer_token_id),
    foil: request.foil_token ?? idText(request.foil_token_id),
    metric: request.metric ?? "logprob",
    hooks: HOOKS.filter((hook) => (request.hooks ?? [request.hook ?? "post_block"]).includes(hook)),
    layers: all ? "all" : ranges(layers),
    positions: listedPositions(request.positions, record.summary?.positions),
    pairing: request.pairing ?? "strict",
    alpha: request.alpha ?? 1,
    keep: request.keep_source ?? false,
  };
}

export type Prepared =
  | { readonly request: PatchSweepRequest; readonly problem: null }
  | { readonly request: null; readonly problem: string };

/** The hooks there are to choose from. */
export function hooksOver(over: Over): readonly Hook[] {
  return over === "heads" ? HEAD_HOOKS : HOOKS;
}

/** The request that a draft stands for, or the first thing that it lacks. */
export function prepare(draft: Draft, nLayers: number, newRun: string): Prepared {
  const layers = parseLayers(draft.layers, nLayers);
  const { alpha } = draft;
  const refused = (problem: string): Prepared => ({ request: null, problem });
  const problem = lacks(draft);
  if (problem !== null) return refused(problem);
  if (layers === null) return refused(`Layers are “all”, or numbers from 0 to ${nLayers - 1} such as 0-4, 7 or 0:${nLayers}:5.`);
  if (alpha === null) return refused("Write alpha, a number: 1 replaces, 0 changes nothing.");
  return {
    problem: null,
    request: {
      prompt: draft.corrupt,
      clean_prompt: draft.clean,
      source_run: draft.run || newRun,
      hooks: [...draft.hooks],
      layers,
      positions: draft.positions === "all" ? "all_prompt" : [...draft.positions],
      metric: draft.metric,
      pairing: draft.pairing,
      alpha,
      keep_source: draft.keep,
      ...graded("answer", draft.answer),
      ...(draft.metric === "logit_diff" ? graded("foil", draft.foil) : {}),
    },
  };
}

export function lacks(draft: Draft): string | null {
  if (draft.pairs !== "") return draft.hooks.length === 0 ? "Choose at least one hook." : null;
  if (draft.clean.trim() === "") return "Write the clean prompt: the one that shows the behaviour.";
  if (draft.corrupt.trim() === "") return "Write the corrupt prompt: the one that is patched.";
  if (draft.answer === "") return "Choose the answer: the token that is graded.";
  if (draft.metric === "logit_diff" && draft.foil === "") return "Choose the foil: the answer's rival.";
  if (draft.hooks.length === 0 && draft.over !== "features") return "Choose at least one hook.";
  if (draft.positions !== "all" && draft.positions.length === 0) return "Choose at least one position.";
  return null;
}

/** The token id that a draft names, or the text. */
export function tokenOf(token: string): string | number {
  return idOf(token) ?? token;
}

function graded(role: "answer" | "foil", token: string): Partial<PatchSweepRequest> {
  const id = TOKEN_ID.exec(token)?.[1];
  return id === undefined ? { [`${role}_token`]: token } : { [`${role}_token_id`]: Number(id) };
}

/** The token id that a draft's token names outright. */
export function idOf(token: string): number | null {
  const id = TOKEN_ID.exec(token)?.[1];
  return id === undefined ? null : Number(id);
}

/** `all`, `0-4, 7`, or as on the command line `0:30:5`; null when it is none, or names a layer that is not there. */
export function parseLayers(text: string, nLayers: number): number[] | null {
  if (text.trim() === "all") return Array.from({ length: nLayers }, (_, layer) => layer);
  const layers = parseNumbers(text, nLayers);
  return layers && layers.length > 0 && layers.every((layer) => layer < nLayers) ? layers : null;
}

const RANGE = /^(\d{1,6})(?:\s*[-\u2013]\s*(\d{1,6}))?$/;
/** As Python slices: the end is left out, and either end may be. */
const SLICE = /^(\d{1,6})?:(\d{1,6})?(?::(\d{1,6}))?$/;

/** `0-4, 7, 10:30:5` as numbers, each once, in order; null when it is something else. */
function parseNumbers(text: string, end: number | null = null): number[] | null {
  const found = new Set<number>();
  const parts = text.split(",").map((each) => each.trim());
  for (const part of parts.filter((each) => each !== "")) {
    const numbers = rangeOf(part) ?? sliceOf(part, end);
    if (numbers === null) return null;
    for (const n of numbers) found.add(n);
  }
  return [...found].sort((a, b) => a - b);
}

function rangeOf(part: string): number[] | null {
  const [, from, to = from] = RANGE.exec(part) ?? [];
  return from === undefined ? null : stepped(Number(from), Number(to) + 1, 1);
}

function sliceOf(part: string, end: number | null): number[] | null {
  const [whole, from = "0", to = end, step = "1"] = SLICE.exec(part) ?? [];
  if (whole === undefined || to === null || Number(step) === 0) return null;
  const numbers = stepped(Number(from), Number(to), Number(step));
  return numbers.length === 0 ? null : numbers;
}

function stepped(from: number, to: number, step: number): number[] {
  return Array.from({ length: Math.max(Math.ceil((to - from) / step), 0) }, (_, n) => from + n * step);
}

function listedLayers(layers: PatchSweepRequest["layers"] | undefined): number[] {
  if (layers === undefined) return [];
  if (Array.isArray(layers)) return layers;
  const found: number[] = [];
  for (let layer = layers.start; layer < layers.stop; layer += layers.step ?? 1) found.push(layer);
  return found;
}

function listedPositions(
  asked: PatchSweepRequest["positions"],
  resolved: readonly number[] | undefined,
): "all" | number[] {
  if (asked === undefined || asked === "all_prompt") return "all";
  const numbers = asked.filter((each) => typeof each === "number");
  return numbers.length === asked.length ? numbers : resolved ? [...resolved] : "all";
}

function numberIn(text: string): number | null {
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : null;
}

export function idText(id: number | null | undefined): string {
  return id === null || id === undefined ? "" : `token_id:${id}`;
}

function oneOf<T extends string>(all: readonly T[], value: string | null): T | undefined {
  return all.find((each) => each === value);
}
