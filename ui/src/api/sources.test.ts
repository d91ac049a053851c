import { expect, it } from "vitest";
import { isPassing } from "./sources";

it.each([
  ["sweep-0123456789ab.own", true],
  ["ui-1f2e", false],
  ["sweep-mine.own", false],
  ["sweep-0123456789ab", false],
])("whether %s goes with its sweep: %s", (run, passing) => expect(isPassing(run)).toBe(passing));
