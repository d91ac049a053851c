import { expect, it } from "vitest";
import { triedOf } from "./trying";
import type { SweepTable } from "./types";

it("a text has the activations of the positions where the feature is active, and none at the first", () => {
  const found = {
    tokens: { prompt: ["The", " cat", " sat"] },
    tables: [{ axes: [{ name: "feature" }, { name: "position", values: [2, "everywhere"] }], activations: [4.5, 4.5] }],
  } as unknown as SweepTable;
  expect(triedOf(found)).toEqual({ tokens: ["The", " cat", " sat"], values: [null, 0, 4.5], silent: false });
});
