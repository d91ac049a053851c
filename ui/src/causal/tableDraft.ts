/** A draft as a general request, a table over heads, features, edges, checkpoints or many pairs, and back from one of the past. */

import type { Metric, PromptPair, SweepRecord, SweepRequest } from "../api/types";
import { ranges } from "../widgets/numbers";
import { courseAsked, courseLacks, courseOfRequest } from "./courseDraft";
import { EMPTY_DRAFT, hooksOver, idOf, idText, isOfEdges, lacks, METRICS, parseLayers, type Draft } from "./draft";
import { edgesAsked, edgesLack, edgesOfRequest, NODE_HOOKS, scoredAsked, scoredLacks, scoredOfRequest } from "./edgeDraft";
import { featuresAsked, featuresLack, featuresOfRequest } from "./featureDraft";

/** Whether a draft is a table: what the classic request has no words for. */
export function isTable(draft: Draft): boolean {
  return draft.over !== "sites" || draft.pairs !== "" || draft.course.run !== "";
}

export type PreparedTable =
  | { readonly request: SweepRequest; readonly problem: null }
  | { readonly request: null; readonly problem: string };

/** The general request of a draft, or the first thing that it lacks. `pairs` are those that it names. */
export function prepareTable(draft: Draft, nLayers: number, pairs: readonly PromptPair[] | null): PreparedTable {
  const layers = parseLayers(draft.layers, nLayers);
  const refused = (problem: string): PreparedTable => ({ request: null, problem });
  const problem = lacks(draft) ?? edgeProblem(draft) ?? featureProblem(draft) ?? courseProblem(draft);
  if (problem !== null) return refused(problem);
  if (layers === null && !isOfEdges(draft) && draft.over !== "features") return refused(`Layers are “all”, or numbers from 0 to ${nLayers - 1} such as 0-4, 7 or 0:${nLayers}:5.`);
  if (draft.alpha === null) return refused("Write alpha, a number: 1 replaces, 0 changes nothing.");
  if (draft.pairs !== "" && pairs === null) return refused(whyNoPairs(draft.pairs));
  const request = {
    ...cellsAsked(draft, layers ?? []),
    ...courseAsked(draft.course),
    metric: draft.metric,
    alpha: draft.alpha,
    pairing: draft.pairing,
    ...(pairs === null || draft.pairs === "" ? onePair(draft) : { pairs: [...pairs] }),
  };
  return { request: request, problem: null }; // what is left out has defaults, which the types do not know
}

/** What the cells are, and how they come by their numbers. */
function cellsAsked(draft: Draft, layers: number[]): Partial<SweepRequest> {
  if (draft.over === "edges") return edgesAsked(draft.edges);
  if (draft.over === "attribution") return scoredAsked(draft.scored, draft.edges, layers, draft.pairs !== "");
  if (draft.over === "features") return featuresAsked(draft.features);
  const sites = { hooks: [...draft.hooks], layers };
  if (draft.over === "heads") return { ...sites, positions: headPositions(draft) };
  return draft.positions === "all" || draft.pairs !== "" ? sites : { ...sites, positions: [...draft.positions] };
}

function edgeProblem(draft: Draft): string | null {
  if (draft.over !== "edges" && draft.over !== "attribution") return null;
  return (isOfEdges(draft) ? edgesLack(draft.edges) : null) ?? (draft.over === "attribution" ? scoredLacks(draft.scored, draft.pairs !== "") : null);
}

function featureProblem(draft: Draft): string | null {
  return draft.over === "features" ? featuresLack(draft.features) : null;
}

function courseProblem(draft: Draft): string | null {
  if (draft.course.run === "") return null;
  if (draft.pairs !== "") return "Checkpoints are of one pair: choose “one, written below”.";
  if (draft.over === "edges" || draft.over === "attribution") {
    return "Edges and attribution are of the loaded model here: choose its weights.";
  }
  return courseLacks(draft.course);
}

function whyNoPairs(name: string): string {
  return name.startsWith("file:") ? `Drop ${name.slice(5)} here once more: a file is not in the address.` : "Asking for the pairs.";
}

function onePair(draft: Draft): Partial<SweepRequest> {
  const token = (text: string) => idOf(text) ?? text;
  const foil = draft.metric === "logit_diff" ? { foil: token(draft.foil) } : {};
  return { clean: draft.clean, corrupt: draft.corrupt, answer: token(draft.answer), ...foil };
}

function headPositions(draft: Draft): "together" | number[] {
  return draft.positions === "all" ? "together" : [...draft.positions];
}

/** The draft that would repeat a table of one pair; null for what the form does not hold. */
export function draftOfTable(record: SweepRecord): Draft | null {
  const request = record.provenance.request as Partial<SweepRequest>;
  const cells = cellsOf(request);
  const course = courseOfRequest(request);
  if (typeof request.clean !== "string" || typeof request.corrupt !== "string") return null;
  if (cells === null || course === null || request.reward) return null;
  const layers = Array.isArray(request.layers) ? request.layers : [];
  const text = (token: unknown) => (typeof token === "string" ? token : typeof token === "number" ? idText(token) : "");
  const all = layers.length === 0 || layers.length === record.provenance.n_layers;
  return {
    ...EMPTY_DRAFT,
    ...cells,
    course,
    clean: request.clean,
    corrupt: request.corrupt,
    answer: text(request.answer),
    foil: text(request.foil),
    metric: METRICS.find((each): each is Metric => each === request.metric) ?? "logprob",
    layers: all ? "all" : ranges(layers),
    alpha: request.alpha ?? 1,
    pairing: request.pairing ?? "strict",
  };
}

/** What the cells of a request were; null for what the form does not hold. */
function cellsOf(request: Partial<SweepRequest>): Partial<Draft> | null {
  const hooks = request.hooks ?? [];
  if (request.method === "attribution") {
    if (!request.senders && hooks.join() !== NODE_HOOKS.join()) return null;
    const edges = request.senders ? { edges: edgesOfRequest(request) } : {};
    return { over: "attribution", scored: scoredOfRequest(request), ...edges };
  }
  if (request.method === "adaptive") return null;
  if (request.features) {
    const features = featuresOfRequest(request);
    return features && { over: "features", features };
  }
  if (request.senders) return { over: "edges", edges: edgesOfRequest(request) };
  const over = (["heads", "sites"] as const).find((each) => hooks.every((hook) => hooksOver(each).some((known) => known === hook)));
  if (hooks.length === 0 || over === undefined) return null;
  return { over, hooks: hooksOver(over).filter((hook) => hooks.includes(hook)), positions: positionsOf(request) };
}

function positionsOf({ positions }: Partial<SweepRequest>): Draft["positions"] {
  return Array.isArray(positions) ? positions.filter((each) => typeof each === "number") : "all";
}
