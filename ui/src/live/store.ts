/**
 * What the page knows of the run it shows. Deltas are applied as they come; components hear of them
 * once a frame, however many there were.
 */

import { useEffect, useState, useSyncExternalStore } from "react";
import type { StreamState } from "../api/events";
import { RunData } from "./stream/data";
import { watchStream, type StreamClient } from "./stream/client";

export interface LiveState {
  readonly data: RunData;
  /** Grows with every change of `data`, which is changed in place. */
  readonly version: number;
  readonly connection: StreamState;
  readonly rate: number;
  /** Why the server will not stream this run. */
  readonly refused: string | null;
}

class LiveStore {
  readonly #data = new RunData();
  readonly #listeners = new Set<() => void>();
  #state: LiveState;
  #next: Partial<LiveState> = {};
  #frame: number | null = null;
  #client: StreamClient | null = null;

  constructor() {
    this.#state = { data: this.#data, version: 0, connection: "connecting", rate: 0, refused: null };
  }

  open(url: string): () => void {
    const client = watchStream(url, {
      onDelta: ({ delta, rate }) => {
        this.#data.apply(delta);
        this.#change({ rate, version: (this.#next.version ?? this.#state.version) + 1 });
      },
      onState: (connection) => this.#change({ connection }),
      onRefused: (refused) => this.#change({ refused, connection: "disconnected" }),
    });
    this.#client = client;
    const ticking = setInterval(() => this.#quiet(), 1_000);
    return () => {
      clearInterval(ticking);
      client.close();
      this.#client = null;
      if (this.#frame !== null) cancelAnimationFrame(this.#frame);
      this.#frame = null;
    };
  }

  pause(paused: boolean): void {
    this.#client?.pause(paused);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly get = (): LiveState => this.#state;

  /** Nothing came for a while: the rate that was said last no longer holds. */
  #quiet(): void {
    const silent = Date.now() - this.#data.heardAt > 5_000;
    if (silent && this.#state.rate !== 0) this.#change({ rate: 0 });
  }

  #change(change: Partial<LiveState>): void {
    this.#next = { ...this.#next, ...change };
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = null;
      this.#state = { ...this.#state, ...this.#next };
      this.#next = {};
      for (const listener of this.#listeners) listener();
    });
  }
}

/** The stream at an address; null listens to nothing. */
export function useStream(url: string | null, paused: boolean, again: boolean): LiveState {
  const [store, setStore] = useState(() => new LiveStore());
  const [opened, setOpened] = useState(url);
  if (opened !== url) {
    setOpened(url);
    setStore(new LiveStore());
  }
  useEffect(() => (url === null ? undefined : store.open(url)), [store, url, again]);
  useEffect(() => store.pause(paused), [store, paused, url]);
  return useSyncExternalStore(store.subscribe, store.get);
}

export interface StreamWishes {
  readonly run: string;
  /** Whether history is known from elsewhere, so that only what comes next is wanted. */
  readonly onlyNew: boolean;
}

const BATCH = 500;

export function streamAddress({ run, onlyNew }: StreamWishes): string {
  const query = new URLSearchParams({ run, include: "generation,metrics,health", batch: String(BATCH) });
  if (onlyNew) query.set("from", "live");
  return `/api/p5/sae/stream?${query.toString()}`;
}
