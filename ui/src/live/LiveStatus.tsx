/** Connection, lag and speed, always in sight, with what is read and the last sign of life. */

import { useEffect, useState } from "react";
import type { StreamHealth } from "../api/runs";
import { ago, count, size } from "../widgets/numbers";
import { StatusBar } from "../widgets/StatusBar";
import type { LiveState } from "./store";
import { sourceText } from "./stream/reducer";

interface LiveStatusProps {
  readonly live: LiveState;
  readonly stream: StreamHealth | null;
  readonly paused: boolean;
}

export function LiveStatus({ live, stream, paused }: LiveStatusProps) {
  const now = useSecond();
  const { data } = live;
  const behind = stream?.lag_bytes ?? 0;
  return (
    <StatusBar connection={live.connection} lag={data.source === "live" ? data.lag : null} perSecond={live.rate}>
      <span>{count(data.counts.records, "record")} streamed</span>
      {behind > 0 && <span>{size(behind)} still to come</span>}
      <span>{data.idle !== null ? `waiting: ${data.idle}` : data.source === null ? "" : sourceText(data.source)}</span>
      {data.heardAt > 0 && <span>last sign of life {ago((now - data.heardAt) / 1000)}</span>}
      {paused && <b>paused</b>}
    </StatusBar>
  );
}

function useSecond(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
