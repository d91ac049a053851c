import { expect, it } from "vitest";
import { queryOf, withQuery } from "./location";
import { pageOf } from "./pages";

it.each([
  ["/", { name: "home" }],
  ["/causal", { name: "causal", sweep: null }],
  ["/causal/1f2e?with=3", { name: "causal", sweep: "1f2e" }],
  ["/live/my%20run", { name: "live", run: "my run" }],
  ["/live/%E0%A4%A", { name: "live", run: "%E0%A4%A" }],
  ["/runs", { name: "runs" }],
  ["/feature/15/2801?run=one", { name: "feature", layer: 15, feature: 2801 }],
  ["/feature/15", { name: "unknown" }],
  ["/feature/x/3", { name: "unknown" }],
  ["/else", { name: "unknown" }],
])("%s is a page", (address, page) => expect(pageOf(address)).toEqual(page));

it("parameters are changed one by one", () => {
  expect(withQuery("/causal?a=1&b=2", { a: null, c: "x y" })).toBe("/causal?b=2&c=x+y");
  expect(withQuery("/causal?a=1", { a: null })).toBe("/causal");
  expect(queryOf("/causal?a=1").get("a")).toBe("1");
});
