import { expect, it } from "vitest";
import { csvText } from "./leaving";

it("texts are quoted where they must be, numbers stay numbers, and nothing becomes a formula", () => {
  const rows = [
    ["token", "value"],
    [" Paris", "-1.5"],
    ['a "b", c', ""],
    ["=1+1", "2e-7"],
    ["-", "-"],
  ];
  expect(csvText(rows)).toBe('token,value\r\n Paris,-1.5\r\n"a ""b"", c",\r\n\'=1+1,2e-7\r\n\'-,\'-\r\n');
});
