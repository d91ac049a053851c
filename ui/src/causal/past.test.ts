import { describe, expect, it } from "vitest";
import type { SweepEntry } from "../api/types";
import { differing, kindText, pastOf, promptsOf, remarksOf, shortened, sweepAddress, titleOf, UNTOUCHED, withoutSweep, withPast } from "./past";

const entry = (request: object, more: Partial<SweepEntry> = {}) =>
  ({ id: "ab12cd34ef", provenance: { request }, ...more }) as unknown as SweepEntry;

describe("an address", () => {
  const view = { search: "eiffel layer", starred: true, opened: "ab" };
  it("holds what is searched, starred and open, beside what else it holds", () => {
    const address = withPast("/causal/ff?with=ee", view);
    expect(pastOf(address)).toEqual(view);
    expect(address).toContain("with=ee");
    expect(withPast(address, { search: "", starred: false, opened: null })).toBe("/causal/ff?with=ee");
  });
  it("of a table says that it is one", () => {
    expect(sweepAddress({ id: "ab", kind: "table" })).toBe("/causal/ab?as=table");
    expect(sweepAddress({ id: "ab", kind: "classic" })).toBe("/causal/ab");
  });
  it("lets go of a sweep that was deleted, and keeps the search", () => {
    expect(withoutSweep("/causal/ab?as=table&find=x&opened=ab", "ab")).toBe("/causal?find=x");
    expect(withoutSweep("/causal/cd?with=ab&beside=1&opened=ab", "ab")).toBe("/causal/cd");
    expect(withoutSweep("/causal/cd?with=ee&starred=1&opened=ab", "ab")).toBe("/causal/cd?with=ee&starred=1");
  });
});

describe("what is said of a sweep", () => {
  it("is sent where it changed, and only that", () => {
    const known = { name: "Eiffel", note: "" };
    expect(remarksOf(known, UNTOUCHED)).toBeNull();
    expect(remarksOf(known, { name: " Eiffel ", note: null })).toBeNull();
    expect(remarksOf(known, { name: "", note: null })).toEqual({ name: "" });
    expect(remarksOf({}, { name: "one", note: "moves at 22\n" })).toEqual({ name: "one", note: "moves at 22" });
  });
});

describe("two prompts", () => {
  it("are cut between words where they differ", () => {
    expect(differing("The Eiffel Tower is in", "The Colosseum is in")).toEqual({
      before: "The ",
      clean: "Eiffel Tower",
      corrupt: "Colosseum",
      after: " is in",
    });
  });
  it.each([
    ["a b a", "a a"],
    ["x", ""],
    ["same", "same"],
    ["one \n two ", "one two "],
  ])("lose nothing: %j and %j", (clean, corrupt) => {
    const { before, after, ...middle } = differing(clean, corrupt);
    expect([before + middle.clean + after, before + middle.corrupt + after]).toEqual([clean, corrupt]);
  });
  it("are shortened around the difference", () => {
    const long = "word ".repeat(40);
    const found = shortened(differing(`${long}here ${long}`, `${long}there ${long}`), 12);
    expect(found).toMatchObject({ before: "\u2026 word word ", clean: "here", corrupt: "there" });
    expect(found.after).toHaveLength(12);
  });
  it("are those of either kind of sweep, and of one over many there are none", () => {
    expect(promptsOf(entry({ prompt: "b", clean_prompt: "a" }))).toEqual({ clean: "a", corrupt: "b" });
    expect(promptsOf(entry({ corrupt: "b", source: "zero" }))).toEqual({ clean: null, corrupt: "b" });
    expect(promptsOf(entry({ pairs: { count: 40 } }))).toBeNull();
  });
});

it("a sweep is called by its name, else by what it was asked", () => {
  expect(titleOf(entry({ prompt: "b" }, { name: "mine" }))).toBe("mine");
  expect(titleOf(entry({ prompt: "b" }))).toBe("b");
  expect(titleOf(entry({ pairs: { count: 40 } }))).toBe("40 pairs");
  expect(titleOf(entry({ reward: {} }))).toBe("sweep ab12cd34");
});

it("a sweep is told by what its cells are, where they are not sites", () => {
  const kind = (request: object) => kindText(entry(request));
  expect(kind({ hooks: ["post_block"] })).toBe("");
  expect(kind({ hooks: ["z", "k"] })).toBe("heads");
  expect(kind({ features: { layer: 15 }, checkpoints: { run: "one" } })).toBe("features of layer 15, through one");
  expect(kind({ senders: ["all"], method: "attribution" })).toBe("edges, by attribution");
  expect(kind({ hooks: ["z", "mlp_out"], method: "attribution" })).toBe("heads and MLPs, by attribution");
  expect(kind({ checkpoints: { run: "one" } })).toBe("through one");
});
