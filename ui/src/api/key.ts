/** The key, where the server has one: kept for this tab only, sent with every request. */

import { useSyncExternalStore } from "react";
import { recall, remember } from "./remembering";

const NAME = "sonde-key";

let wanted = false;
const listeners = new Set<() => void>();

function stored(): string {
  return recall("sessionStorage", NAME) ?? "";
}

/** The header to send, if any. */
export function authorization(): Record<string, string> {
  const key = stored();
  return key === "" ? {} : { Authorization: `Bearer ${key}` };
}

/** The server refused a request for want of the right key. */
export function keyRefused(): void {
  setWanted(true);
}

export function giveKey(key: string): void {
  remember("sessionStorage", NAME, key);
  setWanted(false);
}

function setWanted(value: boolean): void {
  wanted = value;
  for (const listener of listeners) listener();
}

/** Whether the page has to ask for the key. */
export function useKeyWanted(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => wanted,
  );
}
