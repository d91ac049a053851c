/** The address as state: what is worth sharing is in the URL, and the URL decides what is shown. */

import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();

/** A file has no query of its own that could be changed: there, the address is what follows the `#`. */
function isFile(): boolean {
  return window.location.protocol === "file:";
}

/** Path and query, `/causal/1f2e?with=3c4d`. */
export function currentAddress(): string {
  const { pathname, search, hash } = window.location;
  return isFile() ? hash.slice(1) || "/" : pathname + search;
}

function notify(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("popstate", listener);
  };
}

/** The same, kept current. */
export function useAddress(): string {
  return useSyncExternalStore(subscribe, currentAddress);
}

/** Go somewhere; `replace` leaves no trace in the browser's history. */
export function navigate(to: string, { replace = false } = {}): void {
  if (to === currentAddress()) return;
  window.history[replace ? "replaceState" : "pushState"](null, "", isFile() ? `#${to}` : to);
  notify();
}

/** The query of an address. */
export function queryOf(address: string): URLSearchParams {
  return new URLSearchParams(address.split("?")[1] ?? "");
}

/** An address with some parameters changed; null takes one out. */
export function withQuery(address: string, changes: Readonly<Record<string, string | null>>): string {
  const [path = "/"] = address.split("?");
  const query = queryOf(address);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}
