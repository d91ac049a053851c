import { expect, it } from "vitest";
import { neighbour } from "./roving";

it.each([
  ["ArrowRight", 1, 2],
  ["ArrowRight", 2, 2],
  ["ArrowLeft", 0, 0],
  ["Home", 2, 0],
  ["End", 0, 2],
  ["a", 1, null],
])("%s at %i of 3 leads to %s", (key, at, to) => expect(neighbour(key, at, 3)).toBe(to));
