/**
 * One connection per stream, however many pages watch it. Pages come and go; a stream that nobody
 * watches is closed. Runs in a worker, and in tests without one.
 */

import type { follow, StreamEvent, StreamState } from "../../api/events";
import { ApiError } from "../../api/errors";
import type { FromPage, FromWorker } from "./messages";
import { Rate } from "./rate";
import { Reducer } from "./reducer";

/** The worker's end of a page. */
export interface Port {
  readonly send: (message: FromWorker) => void;
}

interface Guest {
  readonly port: Port;
  paused: boolean;
  heardAt: number;
}

const FLUSH_MS = 80;
/** Hidden pages speak once a minute. */
const GONE_MS = 180_000;

export interface Surroundings {
  readonly follow: typeof follow;
  readonly now: () => number;
}

class Feed {
  readonly guests = new Map<Port, Guest>();
  headers: Record<string, string> = {};
  readonly #reducer = new Reducer();
  readonly #rate = new Rate();
  readonly #stop = new AbortController();
  readonly #now: () => number;
  #state: StreamState = "connecting";
  #flushing: ReturnType<typeof setTimeout> | null = null;

  constructor(url: string, { follow: begin, now }: Surroundings, onRefused: (error: ApiError) => void) {
    this.#now = now;
    const follower = {
      onEvents: (events: readonly StreamEvent[]) => this.#hear(events),
      onState: (state: StreamState) => this.#turn(state),
    };
    void begin(url, follower, this.#stop.signal, "", () => this.headers).catch((error: unknown) => {
      if (error instanceof ApiError) onRefused(error);
    });
  }

  welcome(guest: Guest): void {
    guest.port.send({ type: "state", state: this.#state });
    this.tellAll(guest);
  }

  tellAll(guest: Guest): void {
    guest.port.send(this.#delta(this.#reducer.all()));
  }

  close(): void {
    this.#stop.abort();
    if (this.#flushing !== null) clearTimeout(this.#flushing);
  }

  #hear(events: readonly StreamEvent[]): void {
    const before = this.#reducer.data.counts.records;
    this.#reducer.hear(events, this.#now());
    this.#rate.add(this.#reducer.data.counts.records - before, this.#now());
    this.#flushing ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  flush(): void {
    this.#flushing = null;
    const message = this.#delta(this.#reducer.take());
    for (const guest of this.guests.values()) {
      if (!guest.paused) guest.port.send(message);
    }
  }

  #delta(delta: ReturnType<Reducer["take"]>): FromWorker {
    return { type: "delta", delta, rate: this.#rate.at(this.#now()), sentAt: this.#now() };
  }

  #turn(state: StreamState): void {
    if (state === "disconnected" && this.#state === "connected") {
      this.#reducer.note("connection", "the connection was lost; it is taken up again where it broke", this.#now());
    }
    if (state === "connected" && this.#reducer.data.lastId !== "") {
      this.#reducer.note("connection", "connected again", this.#now());
    }
    this.#state = state;
    for (const { port } of this.guests.values()) port.send({ type: "state", state });
  }
}

export class Host {
  readonly #feeds = new Map<string, Feed>();
  readonly #surroundings: Surroundings;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /** How many streams are open. */
  get open(): number {
    return this.#feeds.size;
  }

  receive(port: Port, message: FromPage): void {
    const now = this.#surroundings.now();
    const [url, feed] = this.#of(port);
    const guest = feed?.guests.get(port);
    if (guest) guest.heardAt = now;
    if (message.type === "watch") {
      if (url !== message.url || !feed) {
        this.#leave(port);
        this.#join(port, message.url, message.headers);
      } else if (guest) feed.tellAll(guest);
    } else if (message.type === "pause") {
      if (guest && feed && guest.paused && !message.paused) feed.tellAll(guest);
      if (guest) guest.paused = message.paused;
    } else if (message.type === "bye") this.#leave(port);
    this.#sweep(now);
  }

  #join(port: Port, url: string, headers: Record<string, string>): void {
    let feed = this.#feeds.get(url);
    if (feed === undefined) {
      feed = new Feed(url, this.#surroundings, (error) => this.#refuse(url, error));
      this.#feeds.set(url, feed);
    }
    feed.headers = headers;
    const guest = { port, paused: false, heardAt: this.#surroundings.now() };
    feed.guests.set(port, guest);
    feed.welcome(guest);
  }

  #refuse(url: string, error: ApiError): void {
    const feed = this.#feeds.get(url);
    this.#feeds.delete(url);
    for (const { port } of feed?.guests.values() ?? []) {
      port.send({ type: "refused", status: error.status, message: error.message });
    }
  }

  #leave(port: Port): void {
    const [url, feed] = this.#of(port);
    feed?.guests.delete(port);
    if (feed?.guests.size === 0) {
      feed.close();
      this.#feeds.delete(url);
    }
  }

  /** Pages that went without a word. */
  #sweep(now: number): void {
    for (const feed of [...this.#feeds.values()]) {
      for (const [port, guest] of [...feed.guests]) {
        if (now - guest.heardAt > GONE_MS) this.#leave(port);
      }
    }
  }

  #of(port: Port): [string, Feed | undefined] {
    for (const [url, feed] of this.#feeds) {
      if (feed.guests.has(port)) return [url, feed];
    }
    return ["", undefined];
  }
}
