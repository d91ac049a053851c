import { expect, it } from "vitest";
import { isNotSent } from "./lazily";

it("a file that did not come is told from one that fails when it is run", () => {
  const missing = [
    "Failed to fetch dynamically imported module: http://127.0.0.1/assets/a.js",
    "error loading dynamically imported module",
    "Importing a module script failed.",
    "Unable to preload CSS for /assets/a.css",
  ];
  for (const message of missing) expect(isNotSent(new TypeError(message))).toBe(true);
  expect(isNotSent(new RangeError("Invalid language tag: en-US@posix"))).toBe(false);
});
