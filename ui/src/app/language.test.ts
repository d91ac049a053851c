import { expect, it } from "vitest";
import { known } from "./language";

it("a language that Intl knows stays, and of others what it knows of them", () => {
  expect(["de-AT", "en-US@posix", "de_AT.UTF-8", "@", ""].map(known)).toEqual(["de-AT", "en-US", "en", "en", "en"]);
  for (const each of ["de-AT", "en-US@posix", "C"]) expect(() => new Intl.NumberFormat(known(each))).not.toThrow();
});
