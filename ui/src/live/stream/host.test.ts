import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApiError } from "../../api/errors";
import type { Follower } from "../../api/events";
import { Host, type Port } from "./host";
import { event, record } from "./made";
import type { FromWorker } from "./messages";

interface Opened {
  readonly url: string;
  readonly follower: Follower;
  readonly signal: AbortSignal;
  readonly refuse: (error: Error) => void;
}

let opened: Opened[] = [];
let now = 0;

function host(): Host {
  return new Host({
    now: () => now,
    follow: (url, follower, signal) =>
      new Promise((_resolve, reject) => {
        opened.push({ url, follower, signal, refuse: reject });
      }),
  });
}

function page(): { port: Port; got: FromWorker[] } {
  const got: FromWorker[] = [];
  return { port: { send: (message) => got.push(message) }, got };
}

function records(got: readonly FromWorker[]): number | undefined {
  const last = got.filter((message) => message.type === "delta").at(-1);
  return last?.delta.counts.records;
}

beforeEach(() => {
  vi.useFakeTimers();
  opened = [];
  now = 0;
});
afterEach(() => vi.useRealTimers());

const WATCH = { type: "watch", url: "/stream?run=a", headers: {} } as const;

test("eight pages share one connection, and it is closed after the last", () => {
  const shared = host();
  const pages = Array.from({ length: 8 }, page);
  for (const { port } of pages) shared.receive(port, WATCH);
  expect(opened).toHaveLength(1);
  for (const { port } of pages) shared.receive(port, { type: "bye" });
  expect(opened[0]?.signal.aborted).toBe(true);
  expect(shared.open).toBe(0);
});

test("a page that comes late gets everything, and then what is new", () => {
  const shared = host();
  const [first, late] = [page(), page()];
  shared.receive(first.port, WATCH);
  opened[0]?.follower.onEvents([event([record(1, 0, 0), record(1, 1, 0)])]);
  vi.runAllTimers();
  shared.receive(late.port, WATCH);
  expect(records(late.got)).toBe(2);
  expect(records(first.got)).toBe(2);
  opened[0]?.follower.onEvents([event(record(2, 0, 0))]);
  vi.runAllTimers();
  expect(records(late.got)).toBe(3);
});

test("events that come in a burst are one message", () => {
  const shared = host();
  const one = page();
  shared.receive(one.port, WATCH);
  const before = one.got.length;
  for (let step = 1; step <= 500; step++) opened[0]?.follower.onEvents([event(record(step, 0, 0))]);
  vi.runAllTimers();
  expect(one.got.length - before).toBe(1);
});

test("a paused page hears nothing, and everything when it goes on", () => {
  const shared = host();
  const one = page();
  shared.receive(one.port, WATCH);
  shared.receive(one.port, { type: "pause", paused: true });
  opened[0]?.follower.onEvents([event(record(1, 0, 0))]);
  vi.runAllTimers();
  expect(records(one.got)).toBe(0);
  shared.receive(one.port, { type: "pause", paused: false });
  expect(records(one.got)).toBe(1);
});

test("a page that went without a word does not keep a stream open for ever", () => {
  const shared = host();
  const [gone, other] = [page(), page()];
  shared.receive(gone.port, WATCH);
  now = 200_000;
  shared.receive(other.port, { ...WATCH, url: "/stream?run=b" });
  expect(opened[0]?.signal.aborted).toBe(true);
  expect(shared.open).toBe(1);
});

test("a refusal is told, with its status", async () => {
  const shared = host();
  const one = page();
  shared.receive(one.port, WATCH);
  opened[0]?.refuse(new ApiError(404, "there is no run a"));
  await vi.runAllTimersAsync();
  expect(one.got.at(-1)).toEqual({ type: "refused", status: 404, message: "there is no run a" });
});
