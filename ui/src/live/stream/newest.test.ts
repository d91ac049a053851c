import { expect, it } from "vitest";
import { Newest } from "./newest";

it("holds the newest of each name, and no more than it may", () => {
  const kept = new Newest<string>(2);
  kept.put("a", "first a");
  kept.put("b", "b");
  kept.put("a", "second a");
  kept.put("c", "c");
  expect(kept.all()).toEqual(["second a", "c"]);
});

it("forgets what was last when that is taken back", () => {
  const kept = new Newest<number>(8);
  for (const step of [1, 2, 3]) kept.put(step, step);
  kept.dropWhere((step) => step > 1);
  expect(kept.last).toBe(1);
  kept.dropWhere(() => true);
  expect(kept.last).toBeUndefined();
});
