import { describe, expect, it } from "vitest";
import type { SweepRecord } from "../api/types";
import {
  causalAddress,
  draftOfQuery,
  draftOfRecord,
  EMPTY_DRAFT,
  parseLayers,
  prepare,
  queryOfDraft,
  type Draft,
} from "./draft";

const DRAFT: Draft = {
  ...EMPTY_DRAFT,
  clean: "The Eiffel Tower & co",
  corrupt: "The Colosseum\n+1",
  answer: " Paris",
  foil: " Rome",
  hooks: ["post_attn", "mlp_out"],
  layers: "0-3, 7",
  positions: [2, 3],
  metric: "recovered",
  pairing: "mean",
  alpha: 0.5,
  keep: true,
};

describe("an address", () => {
  it("restores a draft, whatever is in it", () => {
    expect(draftOfQuery(new URLSearchParams(queryOfDraft(DRAFT).toString()))).toEqual(DRAFT);
    expect(draftOfQuery(queryOfDraft({ ...EMPTY_DRAFT, clean: "x" }))).toEqual({ ...EMPTY_DRAFT, clean: "x" });
  });
  it("without prompts has no draft", () => expect(draftOfQuery(new URLSearchParams("with=1"))).toBeNull());
  it("with nonsense in it leaves open what has to be chosen", () => {
    const draft = draftOfQuery(new URLSearchParams("clean=a&metric=nope&alpha=x&hooks=zzz&positions=a"));
    expect(draft).toMatchObject({ metric: "logprob", alpha: null, hooks: [], positions: [] });
  });
  it("can be made by other pages", () => expect(causalAddress({ clean: "a b" })).toBe("/causal?clean=a+b"));
});

describe("a request", () => {
  it("is what the form says, and names a run of its own", () => {
    expect(prepare(DRAFT, 30, "ui-1").request).toMatchObject({
      prompt: DRAFT.corrupt,
      clean_prompt: DRAFT.clean,
      source_run: "ui-1",
      hooks: ["post_attn", "mlp_out"],
      layers: [0, 1, 2, 3, 7],
      positions: [2, 3],
      answer_token: " Paris",
      metric: "recovered",
      pairing: "mean",
      alpha: 0.5,
      keep_source: true,
    });
  });
  it("takes a stored run where one is chosen, and a token by its number", () => {
    const { request } = prepare({ ...DRAFT, run: "kept", answer: "token_id:42" }, 30, "ui-1");
    expect(request).toMatchObject({ source_run: "kept", answer_token_id: 42 });
    expect(request).not.toHaveProperty("answer_token");
  });
  it("sends the foil only where it is graded, because it must be one token wherever it is sent", () => {
    expect(prepare(DRAFT, 30, "r").request).not.toHaveProperty("foil_token");
    expect(prepare({ ...DRAFT, metric: "logit_diff" }, 30, "r").request).toMatchObject({ foil_token: " Rome" });
  });
  it.each([
    [{ clean: " " }, "clean prompt"],
    [{ corrupt: "" }, "corrupt prompt"],
    [{ answer: "" }, "answer"],
    [{ metric: "logit_diff", foil: "" }, "foil"],
    [{ hooks: [] }, "hook"],
    [{ layers: "30" }, "0 to 29"],
    [{ alpha: null }, "alpha"],
    [{ positions: [] }, "position"],
  ] as const)("is not made without what it needs: %j", (changes, word) => {
    const { request, problem } = prepare({ ...DRAFT, ...changes }, 30, "r");
    expect(request).toBeNull();
    expect(problem).toContain(word);
  });
});

it("layers are all of them, or numbers and ranges that exist", () => {
  expect(parseLayers("all", 3)).toEqual([0, 1, 2]);
  expect(parseLayers("2, 0-1, 1", 3)).toEqual([0, 1, 2]);
  expect([parseLayers("0-3", 3), parseLayers("x", 3), parseLayers("", 3), parseLayers("-1", 3)]).toEqual([
    null,
    null,
    null,
    null,
  ]);
});

it("layers are written as on the command line, where the end is left out", () => {
  expect(parseLayers("0:30:5", 30)).toEqual([0, 5, 10, 15, 20, 25]);
  expect(parseLayers("27:", 30)).toEqual([27, 28, 29]);
  expect(parseLayers(":2, 7-8", 30)).toEqual([0, 1, 7, 8]);
  expect(["0:31", "5:5", "0:30:0", "30:", "1:2:3:4", "-3:"].map((text) => parseLayers(text, 30))).toEqual(
    Array.from({ length: 6 }, () => null),
  );
});

describe("a sweep of the past", () => {
  const record = (request: Record<string, unknown>): SweepRecord =>
    ({ provenance: { request, n_layers: 4 }, summary: { positions: [3, 4] } }) as unknown as SweepRecord;

  it("gives the draft that repeats it", () => {
    const { request } = prepare({ ...DRAFT, layers: "all" }, 4, "r");
    const draft = draftOfRecord(record({ ...request }));
    expect(draft).toEqual({ ...DRAFT, layers: "all", foil: "" });
  });
  it("that was asked for with ranges and spans gives what they came to", () => {
    const draft = draftOfRecord(
      record({
        prompt: "a",
        clean_prompt: "b",
        layers: { start: 1, stop: 4, step: 2 },
        positions: [{ span: "x" }],
        answer_token_id: 7,
      }),
    );
    expect(draft).toMatchObject({ layers: "1, 3", positions: [3, 4], answer: "token_id:7", hooks: ["post_block"] });
  });
  it("from a vector has no draft", () =>
    expect(draftOfRecord(record({ prompt: "a", source_module: "zeros" }))).toBeNull());
});
