import { afterEach, expect, it, vi } from "vitest";
import { recall, remember } from "./remembering";

afterEach(() => vi.unstubAllGlobals());

it("what is remembered is kept by the browser", () => {
  const kept = new Map<string, string>();
  vi.stubGlobal("localStorage", {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => kept.set(name, value),
  });
  remember("localStorage", "a", "1");
  expect(kept.get("a")).toBe("1");
  kept.set("a", "2");
  expect(recall("localStorage", "a")).toBe("2");
});

it("where the browser forbids it, the page goes on, and remembers while it is open", () => {
  const refuse = () => {
    throw new DOMException("denied", "SecurityError");
  };
  vi.stubGlobal("localStorage", { getItem: refuse, setItem: refuse });
  expect(recall("localStorage", "b")).toBeNull();
  remember("localStorage", "b", "dark");
  expect(recall("localStorage", "b")).toBe("dark");
});
