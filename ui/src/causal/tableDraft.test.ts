import { describe, expect, it } from "vitest";
import type { SweepRecord } from "../api/types";
import { draftOfQuery, EMPTY_DRAFT, HEAD_HOOKS, queryOfDraft, type Draft } from "./draft";
import { draftOfTable, isTable, prepareTable } from "./tableDraft";

const HEADS: Draft = { ...EMPTY_DRAFT, over: "heads", clean: "a", corrupt: "b", answer: " c", hooks: HEAD_HOOKS, layers: "0:4:2" };
const PAIR = { clean: "a", corrupt: "b", answer: " c" };

describe("a table that is asked for", () => {
  it("is what the classic request has no words for", () => {
    expect([isTable(EMPTY_DRAFT), isTable(HEADS), isTable({ ...EMPTY_DRAFT, pairs: "ioi:4" })]).toEqual([false, true, true]);
  });
  it("has its heads at all positions together", () => {
    expect(prepareTable(HEADS, 4, null).request).toMatchObject({
      clean: "a", corrupt: "b", answer: " c", hooks: HEAD_HOOKS, layers: [0, 2], positions: "together",
    }); // prettier-ignore
    expect(prepareTable({ ...HEADS, answer: "token_id:7" }, 4, null).request).toMatchObject({ answer: 7 });
  });
  it("has pairs instead of prompts, and waits until they are there", () => {
    const draft: Draft = { ...EMPTY_DRAFT, pairs: "ioi:4", clean: "x", corrupt: "y" };
    expect(prepareTable(draft, 4, null).problem).toContain("Asking");
    expect(prepareTable({ ...draft, pairs: "file:mine.jsonl" }, 4, null).problem).toContain("Drop mine.jsonl");
    const { request } = prepareTable(draft, 4, [PAIR]);
    expect(request).toMatchObject({ pairs: [PAIR] });
    expect(request).not.toHaveProperty("clean");
  });
  it("survives an address, and comes back from a sweep of the past", () => {
    expect(draftOfQuery(new URLSearchParams(queryOfDraft(HEADS).toString()))).toEqual(HEADS);
    const { request } = prepareTable(HEADS, 4, null);
    const record = { provenance: { request, n_layers: 4 } } as unknown as SweepRecord;
    expect(draftOfTable(record)).toEqual({ ...HEADS, layers: "0, 2" });
    expect(draftOfTable({ provenance: { request: { pairs: [] } } } as unknown as SweepRecord)).toBeNull();
  });
});
