/**
 * Server-sent events over fetch, because EventSource can send no key. A lost connection is taken up
 * again where it broke, with `Last-Event-ID`; what cannot be taken up again is an error.
 */

import { ApiError, KeyWanted, messageOf } from "./errors";
import { authorization, keyRefused } from "./key";

export interface StreamEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/** Cuts a stream of text into events. Fields and blank lines as the format says. */
export class EventParser {
  #rest = "";
  #id = "";
  #event = "";
  #data: string[] = [];

  push(text: string): StreamEvent[] {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.#line(line.endsWith("\r") ? line.slice(0, -1) : line));
  }

  #line(line: string): StreamEvent[] {
    if (line === "") return this.#finish();
    const colon = line.indexOf(":");
    if (colon === 0) return [];
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.#data.push(value);
    else if (name === "id") this.#id = value;
    else if (name === "event") this.#event = value;
    return [];
  }

  #finish(): StreamEvent[] {
    const made = { id: this.#id, event: this.#event || "message", data: this.#data.join("\n") };
    const empty = this.#data.length === 0;
    this.#data = [];
    this.#event = "";
    return empty ? [] : [made];
  }
}

export type StreamState = "connecting" | "connected" | "disconnected";

export interface Follower {
  /** Events that came together, in order. */
  readonly onEvents: (events: readonly StreamEvent[]) => void;
  readonly onState?: (state: StreamState) => void;
}

export const DONE = "[DONE]";
const SILENCE_MS = 30_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 5_000;

/**
 * Follow a stream to its end, which is `[DONE]` or 204; throws `ApiError` when it is refused.
 * Workers give `headers`: they cannot see the key that the page keeps.
 */
export async function follow(
  url: string,
  follower: Follower,
  signal: AbortSignal,
  after = "",
  headers: () => Record<string, string> = authorization,
): Promise<void> {
  let last = after;
  let wait = FIRST_WAIT_MS;
  const hear = (events: readonly StreamEvent[]): void => {
    wait = FIRST_WAIT_MS;
    last = events.at(-1)?.id ?? last;
    const heard = events.filter((event) => event.data !== DONE);
    if (heard.length > 0) follower.onEvents(heard);
  };
  while (!signal.aborted) {
    follower.onState?.("connecting");
    try {
      const sent = { ...headers(), ...(last && { "Last-Event-ID": last }) };
      if (await listen(url, sent, signal, hear, () => follower.onState?.("connected"))) return;
    } catch (error) {
      if (error instanceof ApiError) throw error;
    }
    follower.onState?.("disconnected");
    await pause(wait, signal);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

/** One connection. -> whether the stream has ended, rather than broken */
async function listen(
  url: string,
  headers: Record<string, string>,
  signal: AbortSignal,
  hear: (events: readonly StreamEvent[]) => void,
  onOpen: () => void,
): Promise<boolean> {
  const silence = new AbortController();
  const sent = { Accept: "text/event-stream", ...headers };
  const response = await fetch(url, { headers: sent, signal: AbortSignal.any([signal, silence.signal]) });
  if (response.status === 204) return true;
  if (response.status === 401) {
    keyRefused();
    throw new KeyWanted();
  }
  if (!response.ok) throw await refusal(response);
  onOpen();
  const parser = new EventParser();
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  while (reader) {
    const timer = setTimeout(() => silence.abort(), SILENCE_MS); // heartbeats come every 10 s
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return false;
    const events = parser.push(value);
    if (events.length > 0) hear(events);
    if (events.at(-1)?.data === DONE) return true;
  }
  return false;
}

/** Server trouble passes, so only a refusal of the request itself is final. */
async function refusal(response: Response): Promise<Error> {
  const body: unknown = await response.json().catch(() => null);
  const message = messageOf(body, response.status);
  return response.status >= 500 ? new Error(message) : new ApiError(response.status, message);
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", done);
  });
}
