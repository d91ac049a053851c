/**
 * From events of the stream to what a page knows. Runs in the worker; knows of neither browser nor
 * connection. Between two calls of `take` it remembers what changed.
 */

import type { StreamEvent } from "../../api/events";
import type { Generation, GRPOMetrics, SAELogRecord, SidecarHealth } from "../../api/types";
import { addRecord } from "./cells";
import { GENERATIONS, LINES, RunData, type Delta, type Notice, type NoticeKind } from "./data";
import { lagOf } from "./lag";
import { isGeneration, isHealth, isMetrics, isRecord, textIn, valuesOf } from "./lines";

interface Fresh {
  dropFrom: number | null;
  tokens: boolean;
  notices: Notice[];
  generations: Generation[];
  metrics: GRPOMetrics[];
  health: SidecarHealth[];
}

function nothingFresh(): Fresh {
  return { dropFrom: null, tokens: false, notices: [], generations: [], metrics: [], health: [] };
}

export class Reducer {
  readonly data = new RunData();
  #fresh = nothingFresh();
  #step = Number.NEGATIVE_INFINITY;
  /** Whether the next record may be of a step that was there before, and replaces it. */
  #again = false;
  #bad = 0;
  #records = 0;
  #heartbeats = 0;

  hear(events: readonly StreamEvent[], now: number): void {
    for (const event of events) {
      this.#event(event, now);
      if (event.id !== "") this.data.lastId = event.id;
    }
    if (events.length > 0) this.data.heardAt = now;
    this.data.counts = { records: this.#records, heartbeats: this.#heartbeats, bad: this.#bad };
  }

  /** Something worth a line in the log that is not from the stream itself. */
  note(kind: NoticeKind, text: string, now: number, step: number | null = null): void {
    const notice = { kind, text, at: now, step };
    this.#fresh.notices.push(notice);
    this.data.addNotices([notice]);
  }

  /** What changed since the last time. */
  take(): Delta {
    const fresh = this.#fresh;
    this.#fresh = nothingFresh();
    const rows = this.data.tokens.takeChanged();
    return {
      ...this.#state(),
      whole: false,
      dropFrom: fresh.dropFrom,
      steps: this.data.steps.takeChanged(),
      tokens: fresh.tokens ? this.#tokens(rows) : null,
      tops: this.data.tops.takeChanged(),
      generations: fresh.generations.slice(-GENERATIONS),
      metrics: fresh.metrics.slice(-LINES),
      health: fresh.health.slice(-LINES),
      notices: fresh.notices,
    };
  }

  /** Everything: for a page that has just come. */
  all(): Delta {
    const { data } = this;
    return {
      ...this.#state(),
      whole: true,
      dropFrom: null,
      steps: data.steps.rows(),
      tokens: this.#tokens(data.tokens.rows()),
      tops: data.tops.all(),
      generations: data.generations.all(),
      metrics: data.metrics.all(),
      health: data.health.all(),
      notices: data.notices,
    };
  }

  #state(): Pick<Delta, "counts" | "source" | "idle" | "heardAt" | "lag" | "lastId"> {
    const { counts, source, idle, heardAt, lag, lastId } = this.data;
    return { counts, source, idle, heardAt, lag, lastId };
  }

  #tokens(rows: Float64Array): Delta["tokens"] {
    return { step: this.data.tokenStep, level: this.data.tokens.level, rows };
  }

  #event({ event, data }: StreamEvent, now: number): void {
    if (event === "heartbeat") {
      this.#heartbeats += 1;
      return;
    }
    const values = valuesOf(data);
    if (values === null) {
      this.#bad += 1;
      return;
    }
    for (const value of values) {
      if (!this.#value(event, value, now)) this.#bad += 1;
    }
  }

  /** -> whether it was what it should be */
  #value(event: string, value: unknown, now: number): boolean {
    switch (event) {
      case "message":
        return isRecord(value) && this.#record(value);
      case "generation":
        return isGeneration(value) && this.#line("generations", value);
      case "metrics":
        return isMetrics(value) && this.#line("metrics", value);
      case "health":
        return isHealth(value) && this.#health(value, now);
      case "source":
        return this.#source(value, now);
      case "checkpoint":
        return this.#checkpoint(value, now);
      case "idle":
        return this.#idle(value, now);
      default:
        return true; // from a later version
    }
  }

  #record(record: SAELogRecord): boolean {
    const { step, layer_index: layer, token_index: token } = record;
    const { data } = this;
    if (step < this.#step || this.#again) this.#goBack(step);
    this.#step = step;
    data.idle = null;
    const first = record.top_feature_activations[0] ?? null;
    const active = record.top_feature_indices.length;
    const loss = record.reconstruction_loss;
    addRecord(data.steps.touch(step, layer), first, loss, active);
    if (data.tokenStep !== step) {
      data.tokens.clear();
      data.tokenStep = step;
    }
    addRecord(data.tokens.touch(token, layer), first, loss, active);
    this.#fresh.tokens = true;
    data.tops.add(step, layer, record.top_feature_indices, record.top_feature_activations);
    this.#records += 1;
    return true;
  }

  /** Steps come in order. One that goes back is done again: by a resumed trainer, or by a replay. */
  #goBack(step: number): void {
    this.#again = false;
    if (this.data.newestStep === null || step > this.data.newestStep) return;
    this.data.dropFrom(step);
    this.#fresh.dropFrom = Math.min(step, this.#fresh.dropFrom ?? step);
  }

  #line<K extends "generations" | "metrics" | "health">(kind: K, line: Fresh[K][number]): boolean {
    (this.#fresh[kind] as (typeof line)[]).push(line);
    this.data.addLines({ generations: [], metrics: [], health: [], [kind]: [line] });
    return true;
  }

  #health(line: SidecarHealth, now: number): boolean {
    this.data.lag = lagOf(line, now);
    return this.#line("health", line);
  }

  #source(value: unknown, now: number): boolean {
    const source = textIn(value, "source");
    if (source === null) return false;
    const reason = textIn(value, "reason");
    if (reason !== null) this.#again = true;
    this.data.source = source;
    this.data.idle = null;
    this.note("source", reason === null ? sourceText(source) : `${sourceText(source)}: ${reason}`, now);
    return true;
  }

  #checkpoint(value: unknown, now: number): boolean {
    const name = textIn(value, "checkpoint");
    if (name === null) return false;
    const step = Number(name.replace(/^checkpoint-/, ""));
    this.note("checkpoint", `${name} is there`, now, Number.isSafeInteger(step) ? step : null);
    return true;
  }

  #idle(value: unknown, now: number): boolean {
    const reason = textIn(value, "reason") ?? "there is nothing to read yet";
    if (this.data.idle !== reason) this.note("idle", reason, now);
    this.data.idle = reason;
    return true;
  }
}

/** What is read, for people. */
export function sourceText(source: string): string {
  if (source === "live") return "reading what is being written";
  return `reading the snapshot of ${source.replace(/^snapshot:/, "")}`;
}
