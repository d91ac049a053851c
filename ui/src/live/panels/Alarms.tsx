/** What the trainer warns of, and what the stream withheld: above everything else. */

import type { AlarmSpan } from "../../api/analytics";
import type { StreamHealth } from "../../api/runs";
import { count } from "../../widgets/numbers";
import type { RunData } from "../stream/data";

export interface Alarm {
  readonly text: string;
  readonly since: number | null;
}

/** Alarms that stand now. The stream's newest health line decides; the server knows since when. */
export function standing(data: RunData, spans: readonly AlarmSpan[]): Alarm[] {
  const kind = (text: string) => text.split(":")[0] ?? text;
  const last = data.health.last;
  const texts = last ? (last.alarms ?? []) : spans.filter((span) => span.standing).map((span) => span.alarm);
  return texts.map((text) => ({
    text,
    since: spans.find((span) => kind(span.alarm) === kind(text))?.first_step ?? null,
  }));
}

interface AlarmsProps {
  readonly alarms: readonly Alarm[];
  readonly stream: StreamHealth | null;
  readonly bad: number;
}

export function Alarms({ alarms, stream, bad }: AlarmsProps) {
  const withheld = stream?.bad_lines ?? 0;
  const first = stream?.first_bad_lines[0];
  return (
    <div className="alarms" role="status" aria-label="Alarms">
      {alarms.map(({ text, since }) => (
        <p key={text} className="alarm">
          <b>Alarm</b> {text}
          {since !== null && <span className="muted"> since step {since}</span>}
        </p>
      ))}
      {withheld > 0 && (
        <p className="alarm">
          <b>Withheld</b> {count(withheld, "line")} of the run that {withheld === 1 ? "is" : "are"} not valid
          {first && (
            <span className="muted">
              {" "}
              (first: byte {first.offset} of {first.file}, {first.fault})
            </span>
          )}
        </p>
      )}
      {bad > 0 && (
        <p className="alarm">
          <b>Not understood</b> {count(bad, "event")} of the stream
        </p>
      )}
    </div>
  );
}
