/** Connection, lag and speed, always in sight, with what is read and the last sign of life. */

import type { StreamHealth } from "../api/runs";
import { ago, count, size } from "../widgets/numbers";
import { StatusBar } from "../widgets/StatusBar";
import { useNow } from "../widgets/useNow";
import type { LiveState } from "./store";
import { sourceText } from "./stream/reducer";

const SECOND_MS = 1_000;

interface LiveStatusProps {
  readonly live: LiveState;
  readonly stream: StreamHealth | null;
  /** The run's first step; null before it is known. */
  readonly first: number | null;
  readonly paused: boolean;
}

export function LiveStatus({ live, stream, first, paused }: LiveStatusProps) {
  const now = useNow(SECOND_MS);
  const { data } = live;
  const behind = stream?.lag_bytes ?? 0;
  return (
    <StatusBar connection={live.connection} lag={data.source === "live" ? data.lag : null} perSecond={live.rate}>
      <span title="The stream begins with the newest snapshot; what is older the panels have from the files">
        {streamedText(data.counts.records, data.oldestStep, first)}
      </span>
      {behind > 0 && <span>{size(behind)} still to come</span>}
      <span>{data.idle !== null ? `waiting: ${data.idle}` : data.source === null ? "" : sourceText(data.source)}</span>
      {data.heardAt > 0 && <span title="From the server, whether or not the run goes on">server heard {ago((now - data.heardAt) / 1000)}</span>}
      {paused && <b>paused</b>}
    </StatusBar>
  );
}

/** What came as a stream, and whether there is more: `962 records streamed, earlier ones read from files`. */
export function streamedText(records: number, oldest: number | null, first: number | null): string {
  const earlier = oldest !== null && first !== null && oldest > first;
  return `${count(records, "record")} streamed${earlier ? ", earlier ones read from files" : ""}`;
}
