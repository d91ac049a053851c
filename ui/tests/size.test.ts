/** What a first visit downloads. The build has to be there: `make ui-check` makes it. */

import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";

const BUILT = resolve(import.meta.dirname, "../../src/sonde/server/ui");
const LIMIT = 300 * 1024;

it("all scripts together, even those loaded later, are under 300 KB gzipped", () => {
  const folder = join(BUILT, "assets");
  const scripts = readdirSync(folder).filter((name) => name.endsWith(".js"));
  const sizes = scripts.map((name) => gzipSync(readFileSync(join(folder, name))).length);
  expect(scripts.length).toBeGreaterThan(0);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(LIMIT);
});

it("the page has no inline script, which its policy would not run", () => {
  const html = readFileSync(join(BUILT, "index.html"), "utf8");
  expect(html).not.toMatch(/<script(?![^>]*\ssrc=)/);
  expect(html).not.toContain("<style");
});
