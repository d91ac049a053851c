/**
 * Edges and attribution in a draft: what they add to it, to an address, to a request, and back from one of the past.
 * Names of nodes are not judged here: the server does that, and says what would work.
 */

import type { SweepRequest } from "../api/types";

export type Frozen = NonNullable<SweepRequest["frozen"]>;
export type Gradient = NonNullable<SweepRequest["gradient"]>;
export type Targets = "nodes" | "edges";

export interface EdgeDraft {
  /** `z:9.6, mlp_out:3`, as on the command line. */
  readonly senders: string;
  readonly receivers: string;
  readonly frozen: Frozen;
}

export interface ScoredDraft {
  readonly targets: Targets;
  readonly gradient: Gradient;
  /** Points of `eap-ig`; null while nothing that is a number is written, as below. */
  readonly steps: number | null;
  readonly verify: number | null;
  readonly sample: number | null;
  /** Nodes at single positions, of pairs at their roles, instead of at all of them at once. */
  readonly each: boolean;
  /** How many of the strongest are run together, as circuits: `10, 40`; nothing for none. */
  readonly circuits: string;
}

export const EMPTY_EDGES: EdgeDraft = { senders: "z, mlp_out", receivers: "logits, total", frozen: "edge" };
export const EVERY_EDGE: EdgeDraft = { senders: "all", receivers: "all", frozen: "edge" };
export const EMPTY_SCORED: ScoredDraft = { targets: "nodes", gradient: "atp", steps: 5, verify: 40, sample: 40, each: false, circuits: "10, 40" };

export const FROZEN: readonly Frozen[] = ["edge", "path", "path+mlps"];
export const GRADIENTS: readonly Gradient[] = ["atp", "eap-ig"];
export const NODE_HOOKS: readonly string[] = ["z", "mlp_out"];

export const FROZEN_MEANING: Record<Frozen, string> = {
  edge: "one receiver; nothing computes on the way",
  path: "several receivers at once; nothing computes on the way",
  "path+mlps": "MLPs on the way compute anew, attention does not",
};

/** A gradient by the name that it has for these targets: `atp` of edges is called `eap`. */
export function gradientName(gradient: Gradient, targets: Targets): string {
  return gradient === "atp" && targets === "edges" ? "eap" : gradient;
}

export function putEdges(query: URLSearchParams, { senders, receivers, frozen }: EdgeDraft): void {
  query.set("senders", senders);
  query.set("receivers", receivers);
  if (frozen !== "edge") query.set("frozen", frozen);
}

export function putScored(query: URLSearchParams, draft: ScoredDraft): void {
  const put = (name: keyof ScoredDraft, value: string) => value !== String(EMPTY_SCORED[name]) && query.set(name, value);
  put("targets", draft.targets);
  put("gradient", draft.gradient);
  for (const name of ["steps", "verify", "sample"] as const) put(name, draft[name] === null ? "" : String(draft[name]));
  put("each", String(draft.each));
  put("circuits", draft.circuits);
}

export function edgesOfQuery(query: URLSearchParams): EdgeDraft {
  return {
    senders: query.get("senders") ?? EMPTY_EDGES.senders,
    receivers: query.get("receivers") ?? EMPTY_EDGES.receivers,
    frozen: FROZEN.find((each) => each === query.get("frozen")) ?? "edge",
  };
}

export function scoredOfQuery(query: URLSearchParams): ScoredDraft {
  const whole = (name: "steps" | "verify" | "sample") => {
    const text = query.get(name);
    return text === null ? EMPTY_SCORED[name] : /^\d{1,6}$/.test(text) ? Number(text) : null;
  };
  return {
    targets: query.get("targets") === "edges" ? "edges" : "nodes",
    gradient: GRADIENTS.find((each) => each === query.get("gradient")) ?? "atp",
    steps: whole("steps"),
    verify: whole("verify"),
    sample: whole("sample"),
    each: query.get("each") === "true",
    circuits: query.get("circuits") ?? EMPTY_SCORED.circuits,
  };
}

/** `z:9.6 + z:9.9, mlp_out:3 embed` as three names. */
export function nodeNames(text: string): string[] {
  return text
    .replace(/\s*\+\s*/g, "+")
    .split(/[\s,]+/)
    .filter((name) => name !== "");
}

/** `10, 40` as sizes; null where something is none. */
export function circuitSizes(text: string): number[] | null {
  const words = text.split(/[\s,]+/).filter((word) => word !== "");
  return words.every((word) => /^[1-9]\d{0,6}$/.test(word)) ? [...new Set(words.map(Number))] : null;
}

/** Whether circuits can be made of what is scored: of one pair, and edges are of all its positions at once. */
export function hasCircuits({ targets, each }: ScoredDraft, ofPairs: boolean): boolean {
  return !ofPairs && (targets === "edges" || !each);
}

/** What an edge draft lacks before the server can judge it. */
export function edgesLack({ senders, receivers }: EdgeDraft): string | null {
  if (nodeNames(senders).length === 0) return "Name senders: embed, z:9.6, z:9, z, mlp_out:3, or all.";
  if (nodeNames(receivers).length === 0) return "Name receivers: q:12.4, v:12, mlp:20, logits, total, or all.";
  return null;
}

export function scoredLacks(draft: ScoredDraft, ofPairs: boolean): string | null {
  const { gradient, steps, verify, sample, circuits } = draft;
  if (verify === null || sample === null) return "Write how many cells are to be run, 0 or more.";
  if (gradient === "eap-ig" && (steps === null || steps < 1)) return "Write at how many points the gradient is taken, 1 or more.";
  if (hasCircuits(draft, ofPairs) && circuitSizes(circuits) === null) return "Write sizes of circuits such as 10, 40, or none.";
  return null;
}

export function edgesAsked({ senders, receivers, frozen }: EdgeDraft): Partial<SweepRequest> {
  return { senders: nodeNames(senders), receivers: nodeNames(receivers), frozen };
}

/** How cells are scored; and of nodes, which. */
export function scoredAsked(draft: ScoredDraft, edges: EdgeDraft, layers: number[], ofPairs: boolean): Partial<SweepRequest> {
  const { targets, gradient, steps, verify, sample, each } = draft;
  const circuits = hasCircuits(draft, ofPairs) ? (circuitSizes(draft.circuits) ?? []) : [];
  return {
    method: "attribution",
    gradient,
    ...(gradient === "eap-ig" ? { steps: steps ?? 5 } : {}),
    verify: verify ?? 0,
    sample: sample ?? 0,
    ...(circuits.length > 0 ? { circuits } : {}),
    ...(targets === "edges"
      ? edgesAsked({ ...edges, frozen: "edge" })
      : { hooks: [...NODE_HOOKS], layers, ...nodePositions(each, ofPairs) }),
  };
}

/** Positions of pairs are their roles, which is what a request without any says. */
function nodePositions(each: boolean, ofPairs: boolean): Pick<Partial<SweepRequest>, "positions"> {
  if (!each) return { positions: "together" };
  return ofPairs ? {} : { positions: "each" };
}

export function edgesOfRequest({ senders, receivers, frozen }: Partial<SweepRequest>): EdgeDraft {
  return { senders: (senders ?? []).join(", "), receivers: (receivers ?? []).join(", "), frozen: frozen ?? "edge" };
}

export function scoredOfRequest({ senders, gradient, steps, verify, sample, positions, circuits }: Partial<SweepRequest>): ScoredDraft {
  return {
    targets: senders ? "edges" : "nodes",
    gradient: gradient ?? "atp",
    steps: steps ?? EMPTY_SCORED.steps,
    verify: verify ?? 200,
    sample: sample ?? 200,
    each: positions === "each",
    circuits: (circuits ?? []).join(", "),
  };
}
