/** A draft as a general request, a table over heads or over many pairs, and back from one of the past. */

import type { Metric, PromptPair, SweepRecord, SweepRequest } from "../api/types";
import { ranges } from "../widgets/numbers";
import { EMPTY_DRAFT, hooksOver, idText, lacks, METRICS, parseLayers, type Draft } from "./draft";
import { idOf } from "./draft";

/** Whether a draft is a table: what the classic request has no words for. */
export function isTable(draft: Draft): boolean {
  return draft.over !== "sites" || draft.pairs !== "";
}

export type PreparedTable =
  | { readonly request: SweepRequest; readonly problem: null }
  | { readonly request: null; readonly problem: string };

/** The general request of a draft, or the first thing that it lacks. `pairs` are those that it names. */
export function prepareTable(draft: Draft, nLayers: number, pairs: readonly PromptPair[] | null): PreparedTable {
  const layers = parseLayers(draft.layers, nLayers);
  const refused = (problem: string): PreparedTable => ({ request: null, problem });
  const problem = lacks(draft);
  if (problem !== null) return refused(problem);
  if (layers === null) return refused(`Layers are “all”, or numbers from 0 to ${nLayers - 1} such as 0-4, 7 or 0:${nLayers}:5.`);
  if (draft.alpha === null) return refused("Write alpha, a number: 1 replaces, 0 changes nothing.");
  if (draft.pairs !== "" && pairs === null) return refused(whyNoPairs(draft.pairs));
  const request = {
    hooks: [...draft.hooks],
    layers,
    metric: draft.metric,
    alpha: draft.alpha,
    pairing: draft.pairing,
    ...(pairs === null || draft.pairs === "" ? onePair(draft) : { pairs: [...pairs] }),
    ...(draft.over === "heads" ? { positions: headPositions(draft) } : {}),
  };
  return { request: request, problem: null }; // what is left out has defaults, which the types do not know
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
  const hooks = request.hooks ?? [];
  if (typeof request.clean !== "string" || typeof request.corrupt !== "string") return null;
  if (hooks.length === 0 || !hooks.every((hook) => hooksOver("heads").some((each) => each === hook))) return null;
  const layers = Array.isArray(request.layers) ? request.layers : [];
  const text = (token: unknown) => (typeof token === "string" ? token : typeof token === "number" ? idText(token) : "");
  const all = layers.length === 0 || layers.length === record.provenance.n_layers;
  return {
    ...EMPTY_DRAFT,
    over: "heads",
    clean: request.clean,
    corrupt: request.corrupt,
    answer: text(request.answer),
    foil: text(request.foil),
    metric: METRICS.find((each): each is Metric => each === request.metric) ?? "logprob",
    hooks: hooksOver("heads").filter((hook) => hooks.includes(hook)),
    layers: all ? "all" : ranges(layers),
    alpha: request.alpha ?? 1,
    pairing: request.pairing ?? "strict",
  };
}
