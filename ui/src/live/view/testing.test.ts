import { expect, it } from "vitest";
import type { TokenFeatures } from "../../api/analytics";
import { ablateCommand, checkpointNear, shellWord, tokenToTest, whyNotTested } from "./testing";

const token = (position: number, activation: number): TokenFeatures => ({
  token_index: position,
  position,
  layers: [{ layer: 15, features: [7], activations: [activation], loss: 1 }],
});

it("the command names the generation, the token, the layer and the feature", () => {
  const suspect = { directory: "/runs/one", layer: 15, feature: 446, generation: "20-3", token: 4 };
  expect(ablateCommand(suspect)).toBe(
    "sonde ablate /runs/one --generation 20-3 --token 4 --layer 15 --features 446 --save why.html",
  );
  expect(ablateCommand({ directory: "/my runs/o'ne", layer: 0, feature: 7, token: 4 })).toBe(
    "sonde ablate '/my runs/o'\\''ne' --layer 0 --features 7 --save why.html",
  );
});

it("a word with anything a shell would read is quoted", () => {
  expect([shellWord("a-b_1.c/d"), shellWord("$(x)"), shellWord("")]).toEqual(["a-b_1.c/d", "'$(x)'", "''"]);
});

it("the token to test is the one with the most of the feature that is not the last", () => {
  const tokens = [token(0, 2), token(4, 5), token(8, 9)];
  expect(tokenToTest(tokens, 15, 7, 9)).toBe(4);
  expect(tokenToTest(tokens, 15, 7, 10)).toBe(8);
  expect(tokenToTest(tokens, 15, 8, 9)).toBeUndefined();
  expect(tokenToTest(tokens, 0, 7, 9)).toBeUndefined();
});

it("a token is tested where features of the layer were recorded and something was said next", () => {
  const tokens = [token(-1, 1), token(0, 2), token(4, 5)];
  expect([-1, 0, 4].map((at) => whyNotTested(tokens, 15, at, 6))).toEqual([null, null, null]);
  expect(whyNotTested(tokens, 15, 4, 5)).toBe("Nothing was said after this token.");
  expect(whyNotTested(tokens, 15, 2, 6)).toBe("No feature of layer 15 was recorded at this token.");
  expect(whyNotTested(tokens, 0, 4, 6)).toBe("No feature of layer 0 was recorded at this token.");
  expect(whyNotTested(tokens, null, 4, 6)).toBe("No feature was recorded at this token.");
  const none = [{ token_index: 0, position: 0, layers: [{ layer: 15, features: [], activations: [], loss: null }] }];
  expect(whyNotTested(none, 15, 0, 6)).toBe("No feature of layer 15 was recorded at this token.");
});

it("the nearest checkpoint is counted from the weights that spoke, one step before", () => {
  expect([checkpointNear([10, 20], 16), checkpointNear([10, 20], 20), checkpointNear([10, 20], 17)]).toEqual([
    10, 20, 20,
  ]);
  expect(checkpointNear([], 3)).toBeUndefined();
});
