import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "./errors";
import { EventParser, follow, type StreamEvent } from "./events";

describe("the parser", () => {
  const events = (...pieces: string[]): StreamEvent[] => {
    const parser = new EventParser();
    return pieces.flatMap((piece) => parser.push(piece));
  };
  it("takes events apart wherever the network cut them", () => {
    const whole = 'id: 7\ndata: {"a":1}\n\n: heartbeat\n\nevent: notice\ndata: x\n\n';
    const cut = events(...Array.from(whole));
    expect(cut).toEqual(events(whole));
    expect(cut).toEqual([
      { id: "7", event: "message", data: '{"a":1}' },
      { id: "7", event: "notice", data: "x" },
    ]);
  });
  it("joins several data lines, and knows carriage returns", () => {
    expect(events("data: a\r\ndata: b\r\n\r\n")).toEqual([{ id: "", event: "message", data: "a\nb" }]);
  });
  it("gives out nothing that is not finished", () => expect(events("data: half\n")).toEqual([]));
});

describe("following", () => {
  beforeEach(() => {
    vi.stubGlobal("sessionStorage", { getItem: () => null });
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  /** A server that answers each connection with the next of these. */
  function answering(...answers: (Response | Error)[]): string[] {
    const asked: string[] = [];
    vi.stubGlobal("fetch", (_: string, { headers }: { headers: Record<string, string> }) => {
      asked.push(headers["Last-Event-ID"] ?? "");
      const next = answers.shift() ?? new Error("nobody there");
      return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
    });
    return asked;
  }

  async function heard(): Promise<{ data: string[]; states: string[] }> {
    const data: string[] = [];
    const states: string[] = [];
    const over = follow(
      "/events",
      { onEvents: (events) => data.push(...events.map((event) => event.data)), onState: (state) => states.push(state) },
      new AbortController().signal,
    );
    over.catch(() => undefined);
    await vi.runAllTimersAsync();
    await over;
    return { data, states };
  }

  it("goes on after the last event when the connection breaks or the server is away", async () => {
    const asked = answering(
      new Response("id: 1\ndata: a\n\nid: 2\ndata: b\n\n"),
      new Error("refused"),
      new Response("busy", { status: 503 }),
      new Response("id: 3\ndata: c\n\ndata: [DONE]\n\n"),
    );
    const { data, states } = await heard();
    expect(data).toEqual(["a", "b", "c"]);
    expect(asked).toEqual(["", "2", "2", "2"]);
    expect(states.filter((state) => state === "disconnected")).toHaveLength(3);
  });
  it("ends where there is nothing more", async () => {
    answering(new Response(null, { status: 204 }));
    expect((await heard()).data).toEqual([]);
  });
  it("gives up when it is refused, with the server's words", async () => {
    answering(new Response('{"error": "no such sweep"}', { status: 404 }));
    await expect(heard()).rejects.toEqual(new ApiError(404, "no such sweep"));
  });
  it("asks for the key where there is one, instead of saying that it was refused", async () => {
    answering(new Response('{"error": "Unauthorized"}', { status: 401 }));
    await expect(heard()).rejects.toThrow("without its key");
  });
});
