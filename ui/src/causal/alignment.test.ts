import { describe, expect, it } from "vitest";
import { alignPrompts, sourcesIn } from "./alignment";

const pairsOf = (...args: Parameters<typeof alignPrompts>) =>
  alignPrompts(...args).columns.map(({ clean, corrupt }) => `${clean.join("+")}:${corrupt ?? "-"}`);

it("prompts of one length pair position by position, and say where they differ", () => {
  const aligned = alignPrompts([1, 2, 3], [1, 9, 3], "strict");
  expect(aligned.columns.map(({ clean, corrupt, differs }) => [clean[0], corrupt, differs])).toEqual([
    [0, 0, false],
    [1, 1, true],
    [2, 2, false],
  ]);
  expect(aligned.hasMiddle).toBe(false);
  expect(aligned.unaligned.size).toBe(0);
});

describe("a corrupt name of three tokens against a clean one of one", () => {
  const clean = [1, 2, 50, 9];
  const corrupt = [1, 2, 60, 61, 62, 9];
  it("strict leaves the name out, on both sides", () => {
    expect(pairsOf(clean, corrupt, "strict")).toEqual(["0:0", "1:1", "2:-", ":2", ":3", ":4", "3:5"]);
    expect([...alignPrompts(clean, corrupt, "strict").unaligned]).toEqual([2, 3, 4]);
    expect(alignPrompts(clean, corrupt, "strict").hasMiddle).toBe(true);
  });
  it("first and last pair one of them", () => {
    expect(pairsOf(clean, corrupt, "first")).toEqual(["0:0", "1:1", "2:2", ":3", ":4", "3:5"]);
    expect(pairsOf(clean, corrupt, "last")).toEqual(["0:0", "1:1", ":2", ":3", "2:4", "3:5"]);
  });
  it("proportional and mean pair all of them", () => {
    expect(pairsOf(clean, corrupt, "proportional")).toEqual(["0:0", "1:1", "2:2", "2:3", "2:4", "3:5"]);
    expect(alignPrompts(clean, corrupt, "mean").unaligned.size).toBe(0);
  });
});

it("the mean of a clean name of two tokens goes into the one corrupt token", () => {
  expect(pairsOf([1, 50, 51, 9], [1, 60, 9], "mean")).toEqual(["0:0", "1+2:1", "3:2"]);
});
it("a prefix and a suffix never overlap", () => {
  expect(pairsOf([1, 1, 1], [1, 1], "strict")).toEqual(["0:0", "1:1", "2:-"]);
});
it("the sources of a finished sweep are read from its alignment", () => {
  const alignment = {
    n_clean: 4,
    n_corrupt: 6,
    prefix_len: 2,
    suffix_len: 1,
    unaligned_positions: [3],
    paired: [[2, [2]]],
  };
  const found = [0, 1, 2, 3, 5].map((position) => sourcesIn(alignment as Parameters<typeof sourcesIn>[0], position));
  expect(found).toEqual([[0], [1], [2], [], [3]]);
});
