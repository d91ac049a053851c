import { describe, expect, it } from "vitest";
import { cssColor, entry, lookup, textOn } from "./colors";
import { COLOR_TABLES } from "./look.generated";

describe.each(["light", "dark"] as const)("on a %s surface", (theme) => {
  it.each(["diverging", "sequential"] as const)("the %s table has Python's 257 colours as pixels", (kind) => {
    const table = lookup(kind, theme);
    expect(table).toHaveLength(257);
    const middle = table[128] ?? 0;
    const rgb = [middle & 255, (middle >>> 8) & 255, (middle >>> 16) & 255];
    const hex = rgb.map((channel) => channel.toString(16).padStart(2, "0")).join("");
    expect(hex).toBe(COLOR_TABLES[theme][kind].slice(128 * 6, 129 * 6));
    expect([...table].every((pixel) => pixel >>> 24 === 255)).toBe(true);
  });
  it("both arms of the diverging map are as strong: blue at one end, orange at the other", () => {
    const [low, high] = [cssColor("diverging", theme, 0), cssColor("diverging", theme, 1)];
    expect(channel(low, 2)).toBeGreaterThan(channel(low, 0));
    expect(channel(high, 0)).toBeGreaterThan(channel(high, 2));
  });
});

it("beyond the ends are the ends", () => expect([entry(-3), entry(0.5), entry(9)]).toEqual([0, 128, 256]));
it("text is dark on light colours and light on dark ones", () => {
  expect([textOn("#ffffff"), textOn("#101010")]).toEqual(["#000000", "#ffffff"]);
});

function channel(color: string, index: number): number {
  return Number.parseInt(color.slice(1 + 2 * index, 3 + 2 * index), 16);
}
