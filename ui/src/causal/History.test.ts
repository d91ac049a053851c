import { expect, it } from "vitest";
import type { SweepEntry } from "../api/types";
import { isFound } from "./History";

it("a sweep is found by what it was asked, in any order and case", () => {
  const request = { prompt: "The Colosseum is in", clean_prompt: "The Eiffel Tower is in", hook: "mlp_out" };
  const entry = { id: "ab12", provenance: { request } } as unknown as SweepEntry;
  expect(["", "eiffel", "MLP_out tower", "ab12"].map((words) => isFound(entry, words))).toEqual([true, true, true, true]);
  expect(["paris", "eiffel paris"].map((words) => isFound(entry, words))).toEqual([false, false]);
});
