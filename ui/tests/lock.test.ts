/** The lists of packages install anywhere: from any registry, on any platform. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, it } from "vitest";

const read = (name: string) => readFileSync(resolve(import.meta.dirname, "..", name), "utf8");

it.each(["package-lock.json", "e2e/package-lock.json"])("%s names no registry", (name) => {
  expect(read(name)).not.toContain('"resolved"');
});

it("the bundler's binaries are listed for every platform, or `npm ci` refuses the list", () => {
  const { packages } = JSON.parse(read("package-lock.json")) as {
    packages: Record<string, { optionalDependencies?: Record<string, string> }>;
  };
  const wanted = Object.keys(packages["node_modules/rolldown"]?.optionalDependencies ?? {});
  expect(wanted.length).toBeGreaterThan(5);
  expect(wanted.filter((name) => !(`node_modules/${name}` in packages))).toEqual([]);
});
