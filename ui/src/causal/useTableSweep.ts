/** The live state of a table. Call it, render what it returns. */

import { useEffect, useReducer, useState } from "react";
import { asError } from "../api/errors";
import { follow, type StreamState } from "../api/events";
import { tableEventsAddress } from "../api/sweeps";
import type { SweepRecord, TableEvent } from "../api/types";
import { NO_PACE, paced, type Pace } from "./pace";
import { EMPTY_TABLE, reduceTable, type TableView } from "./tableView";
import { useTable } from "./usePast";

interface Followed {
  readonly id: string | null;
  readonly view: TableView;
  readonly pace: Pace;
}

interface Heard {
  readonly id: string;
  readonly events: readonly TableEvent[];
  readonly now: number;
}

const NOBODY: Followed = { id: null, view: EMPTY_TABLE, pace: NO_PACE };

function hear(before: Followed, { id, events, now }: Heard): Followed {
  const known = before.id === id ? before : { ...NOBODY, id };
  const view = reduceTable(known.view, events);
  return { id, view, pace: paced(known.pace, view.done, now) };
}

export interface TableSweep {
  readonly view: TableView;
  readonly pace: Pace;
  readonly record: SweepRecord | null;
  readonly stream: StreamState | "ended";
  readonly error: Error | null;
}

export function useTableSweep(id: string | null): TableSweep {
  const [followed, dispatch] = useReducer(hear, NOBODY);
  const [state, setState] = useState<{ id: string; stream: TableSweep["stream"]; error: Error | null } | null>(null);
  const found = useTable(id);
  const { reload } = found;
  useEffect(() => {
    if (id === null) return;
    const control = new AbortController();
    const say = (stream: TableSweep["stream"], error: Error | null = null) => {
      if (!control.signal.aborted) setState({ id, stream, error });
    };
    follow(
      tableEventsAddress(id),
      {
        onEvents: (events) =>
          dispatch({ id, events: events.map((each) => JSON.parse(each.data) as TableEvent), now: Date.now() }),
        onState: (stream) => say(stream),
      },
      control.signal,
    )
      .then(() => {
        if (control.signal.aborted) return;
        say("ended");
        reload();
      })
      .catch((error: unknown) => say("ended", asError(error)));
    return () => control.abort();
  }, [id, reload]);
  const current = state?.id === id ? state : null;
  const mine = followed.id === id && id !== null;
  return {
    view: mine ? followed.view : EMPTY_TABLE,
    pace: mine ? followed.pace : NO_PACE,
    record: found.data,
    stream: current?.stream ?? "connecting",
    error: current?.error ?? found.error,
  };
}
