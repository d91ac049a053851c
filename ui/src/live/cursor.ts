/** One moment that all panels point at: a step, or a token where time is tokens. */

import { createContext, useContext, useSyncExternalStore } from "react";

export class TimeCursor {
  #at: number | null = null;
  readonly #listeners = new Set<() => void>();

  readonly get = (): number | null => this.#at;

  readonly set = (at: number | null): void => {
    if (at === this.#at) return;
    this.#at = at;
    for (const listener of this.#listeners) listener();
  };

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

export const CursorContext = createContext(new TimeCursor());

export function useTimeCursor(): [number | null, (at: number | null) => void] {
  const cursor = useContext(CursorContext);
  return [useSyncExternalStore(cursor.subscribe, cursor.get), cursor.set];
}
