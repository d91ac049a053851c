import { expect, test } from "vitest";
import type { TokenFeatures } from "../../api/analytics";
import { draftOfQuery } from "../../causal/draft";
import { activationsOf, candidates, causalFor, fitting, layersOf, recordedEvery } from "./inspect";

const TOKENS: TokenFeatures[] = [
  { token_index: 8, position: 0, layers: [{ layer: 15, features: [7, 3], activations: [2, 1], loss: 1 }] },
  { token_index: 12, position: 4, layers: [{ layer: 15, features: [3], activations: [9], loss: 2 }] },
];

test("features are ranked by their highest activation", () => {
  expect(candidates(TOKENS, 15)).toEqual([
    { feature: 3, high: 9, tokens: 2 },
    { feature: 7, high: 2, tokens: 1 },
  ]);
  expect(candidates(TOKENS, 0)).toEqual([]);
  expect(layersOf(TOKENS)).toEqual([15]);
});

test("a recorded token without the feature has 0, one that was not recorded has nothing", () => {
  expect([...activationsOf(TOKENS, 15, 7)]).toEqual([
    [0, 2],
    [4, 0],
  ]);
});

test("tokens of another tokenizer are not shown as if they were the trainer's", () => {
  expect(fitting(["a", "b"], 2)).toEqual(["a", "b"]);
  expect(fitting(["a", "b"], 3)).toEqual(["a", "b"]);
  expect(fitting(["a", "b"], 5)).toBeNull();
});

test("a token opens Causal with everything before it, and itself as the answer", () => {
  const draft = draftOfQuery(new URLSearchParams(causalFor("Q: ", ["made", "_of"], 1).split("?")[1]));
  expect(draft).toMatchObject({ clean: "Q: made", answer: "_of" });
  expect(draftOfQuery(new URLSearchParams(causalFor("Q & A?", null, null).split("?")[1]))).toMatchObject({ clean: "Q & A?" });
});

test("says how many tokens are recorded where that is not all of them", () => {
  expect(recordedEvery([-1, 0, 4, 8, 12])).toBe("1 token in 4 is recorded");
  expect(recordedEvery([-1, 0, 1, 2])).toBeNull();
  expect(recordedEvery([3])).toBeNull();
});
