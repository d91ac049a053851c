/** A test by its number in the history: followed while it runs, read where it has ended. */

import { useEffect, useReducer, useState } from "react";
import { asError } from "../../api/errors";
import { follow, type StreamState } from "../../api/events";
import { tableRecord } from "../../api/sweeps";
import { tableEvents, type TableEvent } from "../../api/tests";
import type { SweepRecord } from "../../api/types";
import { useResource } from "../../api/useResource";
import { EMPTY_TEST, reduceTest, type TestView } from "./testView";

interface Heard {
  readonly id: string;
  readonly view: TestView;
}

export interface Test {
  readonly view: TestView;
  readonly record: SweepRecord | null;
  readonly stream: StreamState | "ended";
  readonly error: Error | null;
}

function hear(before: Heard, { id, events }: { readonly id: string; readonly events: readonly TableEvent[] }): Heard {
  return { id, view: reduceTest(before.id === id ? before.view : EMPTY_TEST, events) };
}

export function useTest(id: string): Test {
  const [heard, dispatch] = useReducer(hear, { id, view: EMPTY_TEST });
  const [state, setState] = useState<{ id: string; stream: Test["stream"]; error: Error | null } | null>(null);
  const found = useResource(`test/${id}`, (signal) => tableRecord(id, signal));
  const { reload } = found;
  useEffect(() => {
    const control = new AbortController();
    const say = (stream: Test["stream"], error: Error | null = null) => {
      if (!control.signal.aborted) setState({ id, stream, error });
    };
    follow(
      tableEvents(id),
      {
        onEvents: (events) => {
          if (!control.signal.aborted)
            dispatch({ id, events: events.map((event) => JSON.parse(event.data) as TableEvent) });
        },
        onState: (stream) => say(stream),
      },
      control.signal,
    )
      .then(() => {
        say("ended");
        if (!control.signal.aborted) reload();
      })
      .catch((error: unknown) => say("ended", asError(error)));
    return () => control.abort();
  }, [id, reload]);
  const current = state?.id === id ? state : null;
  return {
    view: heard.id === id ? heard.view : EMPTY_TEST,
    record: found.data,
    stream: current?.stream ?? "connecting",
    error: current?.error ?? found.error,
  };
}
