/** The live state of one sweep. Call it, render what it returns; staying current is its job. */

import { useEffect, useMemo, useReducer, useState } from "react";
import { asError } from "../api/errors";
import { follow, type StreamState } from "../api/events";
import { eventsAddress } from "../api/sweeps";
import type { SweepEvent, SweepRecord } from "../api/types";
import { useRecord } from "./usePast";
import { NO_PACE, paced, type Pace } from "./pace";
import { EMPTY_VIEW, reduceSweep, type SweepView } from "./sweepView";
import { wholeView } from "./whole";

const FLUSH_MS = 16;

interface Followed {
  readonly id: string | null;
  readonly view: SweepView;
  /** When the first cell was heard, in milliseconds, and how many come a second since. */
  readonly since: number | null;
  readonly perSecond: number | null;
  readonly pace: Pace;
}

interface Heard {
  readonly id: string;
  readonly events: readonly SweepEvent[];
  readonly now: number;
}

const NOBODY: Followed = { id: null, view: EMPTY_VIEW, since: null, perSecond: null, pace: NO_PACE };

function hear(before: Followed, { id, events, now }: Heard): Followed {
  const known = before.id === id ? before : { ...NOBODY, id };
  const view = reduceSweep(known.view, events);
  const since = known.since ?? (view.done > 0 ? now : null);
  const seconds = since === null ? 0 : (now - since) / 1000;
  const perSecond = seconds > 0.2 ? view.done / seconds : known.perSecond;
  return { id, view, since, perSecond, pace: paced(known.pace, view.done, now) };
}

export interface Sweep {
  readonly view: SweepView;
  readonly record: SweepRecord | null;
  readonly stream: StreamState | "ended";
  readonly perSecond: number | null;
  readonly pace: Pace;
  readonly error: Error | null;
}

export function useSweep(id: string | null): Sweep {
  const [followed, dispatch] = useReducer(hear, NOBODY);
  const [state, setState] = useState<{ id: string; stream: Sweep["stream"]; error: Error | null } | null>(null);
  const found = useRecord(id);
  const { reload } = found;

  useEffect(() => {
    if (id === null) return;
    const control = new AbortController();
    const flush = batching((events) => dispatch({ id, events, now: Date.now() }));
    const say = (stream: Sweep["stream"], error: Error | null = null) => {
      if (!control.signal.aborted) setState({ id, stream, error });
    };
    follow(
      eventsAddress(id),
      {
        onEvents: (events) => flush.add(events.map((event) => JSON.parse(event.data) as SweepEvent)),
        onState: (stream) => say(stream),
      },
      control.signal,
    )
      .then(() => {
        if (control.signal.aborted) return;
        flush.now();
        say("ended");
        reload();
      })
      .catch((error: unknown) => say("ended", asError(error)));
    return () => {
      control.abort();
      flush.stop();
    };
  }, [id, reload]);

  const current = state?.id === id ? state : null;
  const mine = followed.id === id && id !== null;
  const heard = mine ? followed.view : EMPTY_VIEW;
  const request = found.data?.provenance.request;
  const view = useMemo(() => (request ? wholeView(heard, request) : heard), [heard, request]);
  return {
    view,
    record: found.data,
    stream: current?.stream ?? "connecting",
    perSecond: mine ? followed.perSecond : null,
    pace: mine ? followed.pace : NO_PACE,
    error: current?.error ?? found.error,
  };
}

/** Hands on at most one batch a frame, so that ten thousand cells are not ten thousand renderings. */
function batching(hand: (events: readonly SweepEvent[]) => void) {
  let waiting: SweepEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const now = () => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length > 0) hand(waiting);
    waiting = [];
  };
  return {
    add(events: readonly SweepEvent[]) {
      waiting.push(...events);
      timer ??= setTimeout(now, FLUSH_MS);
    },
    now,
    stop: () => clearTimeout(timer),
  };
}
