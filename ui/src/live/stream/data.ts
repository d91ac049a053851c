/**
 * What a page knows of a run from its stream, in bounded memory. The worker has one of these, and
 * every page a copy, kept in step by deltas: cells with their new values, never differences, so a
 * delta that comes twice does no harm.
 */

import type { Generation, GRPOMetrics, SidecarHealth } from "../../api/types";
import { Newest } from "./newest";
import { Timeline } from "./timeline";
import { Tops, type TopFeatures } from "./tops";

export type NoticeKind = "source" | "checkpoint" | "idle" | "connection";

/** Something the stream said that is not data. */
export interface Notice {
  readonly kind: NoticeKind;
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly step: number | null;
}

export interface Counts {
  readonly records: number;
  readonly heartbeats: number;
  /** Events that were not what they should be. */
  readonly bad: number;
}

export interface Delta {
  /** Forget what came before this one altogether. */
  readonly whole: boolean;
  /** Forget everything from this step on, before the rest is put in. */
  readonly dropFrom: number | null;
  readonly steps: Float64Array;
  readonly tokens: { readonly step: number; readonly level: number; readonly rows: Float64Array } | null;
  readonly tops: readonly TopFeatures[];
  readonly generations: readonly Generation[];
  readonly metrics: readonly GRPOMetrics[];
  readonly health: readonly SidecarHealth[];
  readonly notices: readonly Notice[];
  readonly counts: Counts;
  /** What is read: `live`, or `snapshot:checkpoint-N`. */
  readonly source: string | null;
  /** Why there is nothing to read; null while there is. */
  readonly idle: string | null;
  /** Milliseconds since 1970; 0 before anything came. */
  readonly heardAt: number;
  /** Seconds from when the newest health line was written to when it came; null when that is unknown. */
  readonly lag: number | null;
  readonly lastId: string;
}

const STEPS = 1024;
const TOKEN_COLUMNS = 512;
export const LINES = 4096;
export const GENERATIONS = 256;
const NOTICES = 100;

export class RunData {
  readonly steps = new Timeline(STEPS, "drop");
  readonly tokens = new Timeline(TOKEN_COLUMNS, "widen");
  /** The step whose tokens those are. */
  tokenStep = Number.NaN;
  readonly tops = new Tops();
  readonly generations = new Newest<Generation>(GENERATIONS);
  readonly metrics = new Newest<GRPOMetrics>(LINES);
  readonly health = new Newest<SidecarHealth>(LINES);
  notices: readonly Notice[] = [];
  counts: Counts = { records: 0, heartbeats: 0, bad: 0 };
  source: string | null = null;
  idle: string | null = null;
  heardAt = 0;
  lag: number | null = null;
  lastId = "";

  /** The newest step that there are records of. */
  get newestStep(): number | null {
    return this.steps.size === 0 ? null : Math.max(...this.steps.columns());
  }

  /** The oldest step that there are records of. */
  get oldestStep(): number | null {
    return this.steps.size === 0 ? null : Math.min(...this.steps.columns());
  }

  apply(delta: Delta): void {
    if (delta.whole) this.clear();
    else if (delta.dropFrom !== null) this.dropFrom(delta.dropFrom);
    this.steps.put(delta.steps);
    if (delta.tokens) this.#putTokens(delta.tokens);
    this.tops.put(delta.tops);
    this.addLines(delta);
    this.addNotices(delta.notices);
    this.counts = delta.counts;
    this.source = delta.source;
    this.idle = delta.idle;
    this.heardAt = delta.heardAt;
    this.lag = delta.lag;
    this.lastId = delta.lastId;
  }

  addLines({ generations, metrics, health }: Pick<Delta, "generations" | "metrics" | "health">): void {
    for (const line of generations) {
      if ((line.pass ?? 1) > 1) continue; // a completion that is learnt from again is no other one
      const { last } = this.generations;
      if (last && line.step < last.step) this.generations.dropWhere((other) => other.step >= line.step);
      this.generations.put(line.generation_id, line);
    }
    for (const line of metrics) {
      const { last } = this.metrics;
      if (last && line.iteration < last.iteration) this.metrics.dropWhere((other) => other.iteration > line.iteration);
      this.metrics.put(line.iteration, line);
    }
    for (const line of health) {
      const { last } = this.health;
      if (last && line.step < last.step) this.health.dropWhere((other) => other.step > line.step);
      this.health.put(line.step, line);
    }
  }

  addNotices(notices: readonly Notice[]): void {
    if (notices.length > 0) this.notices = [...this.notices, ...notices].slice(-NOTICES);
  }

  /** Forget a step and all after it: a trainer that resumed does them again. */
  dropFrom(step: number): void {
    this.steps.dropFrom(step);
    this.tops.dropFrom(step);
    if (this.tokenStep >= step) {
      this.tokens.clear();
      this.tokenStep = Number.NaN;
    }
  }

  clear(): void {
    this.dropFrom(Number.NEGATIVE_INFINITY);
    for (const lines of [this.generations, this.metrics, this.health]) lines.dropWhere(() => true);
    this.notices = [];
  }

  #putTokens({ step, level, rows }: NonNullable<Delta["tokens"]>): void {
    if (step !== this.tokenStep || level !== this.tokens.level) {
      this.tokens.clear();
      this.tokens.level = level;
      this.tokenStep = step;
    }
    this.tokens.put(rows);
  }
}
