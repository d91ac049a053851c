import { describe, expect, it } from "vitest";
import type { Estimate } from "../api/types";
import { doubtsOf, offerOf } from "./doubts";
import { EMPTY_DRAFT, type Draft } from "./draft";
import { pressed } from "./useStart";

const DRAFT: Draft = { ...EMPTY_DRAFT, clean: "a b", corrupt: "a c", answer: " Paris", foil: " Rome" };
const NOTHING = { baselines: null, afterClean: null, estimate: null };
const ESTIMATE = { cells: 90, computed_cells: 0 } as Estimate;
const next = (...tokens: string[]) => tokens.map((token, n) => ({ token, logprob: -1 - n }));

describe("what speaks against a sweep", () => {
  it("is nothing while nothing is known", () => expect(doubtsOf(DRAFT, NOTHING)).toEqual([]));
  it("is that the prompts are one and the same, and then nothing else is worth saying", () => {
    const known = { ...NOTHING, baselines: { clean: -1, corrupt: -1 }, estimate: ESTIMATE };
    expect(doubtsOf({ ...DRAFT, corrupt: DRAFT.clean }, known)).toEqual([
      "The two prompts are the same, so every cell equals the baseline.",
    ]);
  });
  it("is that there is no gap", () => {
    const [only] = doubtsOf(DRAFT, { ...NOTHING, baselines: { clean: -1, corrupt: -1.05 } });
    expect(only).toContain("hardly differ");
  });
  it("is that the corrupt prompt favours the answer more", () => {
    const [only] = doubtsOf(DRAFT, { ...NOTHING, baselines: { clean: -4, corrupt: -1 } });
    expect(only).toBe("The corrupt prompt favours “·Paris” more than the clean one does.");
  });
  it("is that the clean prompt favours the foil", () => {
    const known = { ...NOTHING, baselines: { clean: -0.5, corrupt: -3 } };
    expect(doubtsOf({ ...DRAFT, metric: "logit_diff" }, known)).toEqual([
      "After the clean prompt “·Rome” is likelier than “·Paris”.",
    ]);
    expect(doubtsOf(DRAFT, known)).toEqual([]);
  });
  it("is an answer that nobody would give, unless it is among the likeliest all the same", () => {
    const known = { ...NOTHING, baselines: { clean: -8, corrupt: -11 } };
    expect(doubtsOf(DRAFT, { ...known, afterClean: next(" the") })).toEqual([
      "“·Paris” is no likely answer to the clean prompt: 0.03 %.",
    ]);
    expect(doubtsOf(DRAFT, { ...known, afterClean: next(" Paris") })).toEqual([]);
  });
  it("is that no cell can differ, and why", () => {
    expect(doubtsOf(DRAFT, { ...NOTHING, estimate: ESTIMATE })[0]).toContain("None of 90 cells can differ");
    expect(doubtsOf({ ...DRAFT, alpha: 0 }, { ...NOTHING, estimate: ESTIMATE })[0]).toContain("alpha 0");
    expect(doubtsOf(DRAFT, { ...NOTHING, estimate: { ...ESTIMATE, computed_cells: 1 } })).toEqual([]);
    expect(doubtsOf({ ...DRAFT, over: "attribution" }, { ...NOTHING, estimate: ESTIMATE }), "scored, and none run").toEqual([]);
  });
});

describe("what is offered", () => {
  it("are both prompts' own answers, where the old ones fit neither", () => {
    expect(offerOf(DRAFT, next(" Seoul", " the"), next(" Seoul", " Tokyo"))).toEqual({ answer: " Seoul", foil: " Tokyo" });
  });
  it("is nothing where the answer is one of the likeliest, or before that is known", () => {
    expect(offerOf(DRAFT, next(" the", " Paris"), next(" the"))).toBeNull();
    expect(offerOf(DRAFT, null, next(" the"))).toBeNull();
  });
  it("is about the foil where that is graded", () => {
    const draft: Draft = { ...DRAFT, metric: "logit_diff" };
    expect(offerOf(draft, next(" Paris"), next(" Tokyo"))).toEqual({ answer: " Paris", foil: " Tokyo" });
    expect(offerOf(draft, next(" Paris"), next(" Rome"))).toBeNull();
  });
});

describe("the button", () => {
  it("starts what nothing speaks against", () => expect(pressed("no", false, false)).toBe("starting"));
  it("waits until that is known", () => expect(pressed("no", true, false)).toBe("checking"));
  it("asks once, and then does as it is told", () => {
    expect(pressed("no", false, true)).toBe("asked");
    expect(pressed("asked", false, true)).toBe("starting");
  });
  it("pressed twice starts once", () => expect(pressed("starting", false, false)).toBe("starting"));
});
