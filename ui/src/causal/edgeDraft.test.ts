import { describe, expect, it } from "vitest";
import type { SweepRecord } from "../api/types";
import { draftOfQuery, EMPTY_DRAFT, queryOfDraft, type Draft } from "./draft";
import { EMPTY_SCORED, EVERY_EDGE, gradientName, nodeNames } from "./edgeDraft";
import { draftOfTable, isTable, prepareTable } from "./tableDraft";

const PAIR = { ...EMPTY_DRAFT, clean: "a", corrupt: "b", answer: " c" };
const EDGES: Draft = { ...PAIR, over: "edges", edges: { senders: "z:1.0, embed", receivers: "v:2.0 + q:2.1", frozen: "path" } };
const NODES: Draft = { ...PAIR, over: "attribution", layers: "0:4:2", scored: { ...EMPTY_SCORED, gradient: "eap-ig", verify: 7, each: true } };
const EVERY: Draft = { ...PAIR, over: "attribution", edges: EVERY_EDGE, scored: { ...EMPTY_SCORED, targets: "edges", sample: 0 } };

function again(draft: Draft): Draft | null {
  const { request } = prepareTable(draft, 4, null);
  return draftOfTable({ provenance: { request, n_layers: 4 } } as unknown as SweepRecord);
}

it("names stand apart by commas or spaces, and what + joins is one", () => {
  expect(nodeNames(" z:9.6 + z:9.9,mlp_out:3  embed ")).toEqual(["z:9.6+z:9.9", "mlp_out:3", "embed"]);
});
it("the gradient at the corrupt prompt is called atp of nodes and eap of edges", () => {
  expect([gradientName("atp", "nodes"), gradientName("atp", "edges"), gradientName("eap-ig", "edges")]).toEqual(["atp", "eap", "eap-ig"]);
});

describe("edges that are asked for", () => {
  it("have senders and receivers instead of hooks and layers", () => {
    const { request } = prepareTable({ ...EDGES, layers: "nonsense" }, 4, null);
    expect(request).toMatchObject({ senders: ["z:1.0", "embed"], receivers: ["v:2.0+q:2.1"], frozen: "path", clean: "a" });
    expect(request).not.toHaveProperty("hooks");
    expect(request).not.toHaveProperty("layers");
  });
  it("are refused where a side names nothing", () => {
    expect(prepareTable({ ...EDGES, edges: { ...EDGES.edges, senders: " , " } }, 4, null).problem).toContain("Name senders");
    expect(prepareTable({ ...EDGES, edges: { ...EDGES.edges, receivers: "" } }, 4, null).problem).toContain("Name receivers");
  });
});

describe("an attribution that is asked for", () => {
  it("is of heads and MLPs, or of edges, and says what is run to verify it", () => {
    expect(prepareTable(NODES, 4, null).request).toMatchObject({
      method: "attribution", gradient: "eap-ig", steps: 5, verify: 7, sample: 40, hooks: ["z", "mlp_out"], layers: [0, 2], positions: "each",
    }); // prettier-ignore
    const { request } = prepareTable(EVERY, 4, null);
    expect(request).toMatchObject({ method: "attribution", gradient: "atp", senders: ["all"], receivers: ["all"], sample: 0 });
    expect(request).not.toHaveProperty("steps");
    expect(request).toMatchObject({ circuits: [10, 40] });
    expect(prepareTable(NODES, 4, null).request).not.toHaveProperty("circuits"); // edges are of all positions at once
    expect(prepareTable({ ...EVERY, scored: { ...EVERY.scored, circuits: "" } }, 4, null).request).not.toHaveProperty("circuits");
  });
  it("of many pairs has roles for columns, and no circuits: those are of one pair", () => {
    const { request } = prepareTable({ ...NODES, pairs: "ioi:4" }, 4, [{ clean: "a", corrupt: "b", answer: " c" }]);
    expect(request).toMatchObject({ method: "attribution", hooks: ["z", "mlp_out"], pairs: [{ clean: "a" }] });
    expect(request).not.toHaveProperty("positions");
    const edges = prepareTable({ ...EVERY, pairs: "ioi:4", scored: { ...EVERY.scored, circuits: "0" } }, 4, []);
    expect(edges.problem).toBeNull();
    expect(edges.request).not.toHaveProperty("circuits");
  });
  it("is refused without its numbers", () => {
    expect(prepareTable({ ...NODES, scored: { ...NODES.scored, verify: null } }, 4, null).problem).toContain("how many");
    expect(prepareTable({ ...NODES, scored: { ...NODES.scored, steps: 0 } }, 4, null).problem).toContain("points");
    expect(prepareTable({ ...EVERY, scored: { ...EVERY.scored, circuits: "0" } }, 4, null).problem).toContain("circuits");
  });
});

const FEATURES: Draft = { ...PAIR, over: "features", features: { layer: 3, which: "named", numbers: "7, 2", top: 8, how: "remove" } };
const ACTIVE: Draft = { ...PAIR, over: "features", features: { layer: 3, which: "active", numbers: "", top: 5, how: "patch" } };
const THROUGH: Draft = { ...FEATURES, course: { run: "one", steps: "20, 10" } };
const SITES: Draft = { ...PAIR, positions: [1], course: { run: "one", steps: "all" } };

describe("features that are asked for", () => {
  it("are an axis of one dictionary: named, the strongest, or the most active", () => {
    expect(prepareTable(FEATURES, 4, null).request).toMatchObject({ features: { layer: 3, how: "remove", numbers: [7, 2] } });
    expect(prepareTable(ACTIVE, 4, null).request).toMatchObject({ features: { by: "activation", top: 5 } });
    expect(prepareTable(FEATURES, 4, null).request).not.toHaveProperty("hooks");
  });
  it("are refused without a dictionary, or numbers", () => {
    const lacking = (features: Partial<Draft["features"]>) => prepareTable({ ...FEATURES, features: { ...FEATURES.features, ...features } }, 4, null).problem;
    expect(lacking({ layer: null })).toContain("layer");
    expect(lacking({ numbers: "7 x" })).toContain("numbers of features");
    expect(lacking({ which: "active", top: null })).toContain("how many");
  });
});

describe("checkpoints that are asked for", () => {
  it("make a table of what would be a grid", () => {
    expect(isTable(SITES)).toBe(true);
    expect(prepareTable(SITES, 4, null).request).toMatchObject({ checkpoints: { run: "one", steps: "all" }, positions: [1], hooks: ["post_block"] });
    expect(prepareTable(THROUGH, 4, null).request).toMatchObject({ checkpoints: { run: "one", steps: [10, 20] } });
  });
  it("are refused where a step is none, over pairs, and of edges", () => {
    expect(prepareTable({ ...SITES, course: { run: "one", steps: "last" } }, 4, null).problem).toContain("Steps");
    expect(prepareTable({ ...EDGES, course: THROUGH.course }, 4, null).problem).toContain("loaded model");
    expect(prepareTable({ ...SITES, pairs: "ioi:4" }, 4, []).problem).toContain("one pair");
  });
});

it.each([EDGES, NODES, EVERY, FEATURES, ACTIVE, THROUGH, SITES])("a draft survives an address, and comes back from a sweep of the past", (draft) => {
  expect(draftOfQuery(new URLSearchParams(queryOfDraft(draft).toString()))).toEqual(draft);
  const back = again(draft);
  expect(back && prepareTable(back, 4, null)).toEqual(prepareTable(draft, 4, null));
});
it("an address without a word of edges has none", () => {
  expect(queryOfDraft(PAIR).has("senders")).toBe(false);
  expect(draftOfQuery(queryOfDraft({ ...PAIR, over: "heads" }))).toMatchObject({ edges: EMPTY_DRAFT.edges, scored: EMPTY_SCORED });
});
it("an adaptive sweep is not what the form holds", () => {
  const request = { clean: "a", corrupt: "b", method: "adaptive", hooks: ["z"] };
  expect(draftOfTable({ provenance: { request } } as unknown as SweepRecord)).toBeNull();
});
