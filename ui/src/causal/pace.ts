/**
 * How long the rest of a sweep will take, as the terminal says it (cli/progress.py): cells come in bursts, one for
 * each chunk. The first burst is what needed no work, and nothing is promised before two chunks have come after it.
 */

import { duration } from "../widgets/numbers";

const BURST_MS = 50;
const LONGEST_BURST_MS = 1_000;

/** Cells done, and when. */
interface Mark {
  readonly done: number;
  readonly at: number;
}

export interface Pace {
  /** When the last burst began, and how far it came. */
  readonly opened: number;
  readonly last: Mark | null;
  /** The first burst that is over, and the last. */
  readonly first: Mark | null;
  readonly known: Mark | null;
  readonly over: number;
}

export const NO_PACE: Pace = { opened: 0, last: null, first: null, known: null, over: 0 };

/** After a batch of cells: so many are done now. */
export function paced(pace: Pace, done: number, now: number): Pace {
  if (pace.last === null) return done === 0 ? pace : { ...pace, opened: now, last: { done, at: now } };
  if (pace.last.done === done) return pace;
  const closed = isOver(pace, now) ? { ...close(pace), opened: now } : pace;
  return { ...closed, last: { done, at: now } };
}

/** Seconds that the rest will take; null while that would be a guess. */
export function secondsLeft(pace: Pace, cells: number, now: number): number | null {
  const { first, known, over } = isOver(pace, now) ? close(pace) : pace;
  if (first === null || known === null || over < 3 || known.done === first.done) return null;
  const perMs = (known.done - first.done) / (known.at - first.at);
  return ((cells - known.done) / perMs - (now - known.at)) / 1000;
}

/** A guess, so in round numbers. */
export function leftText(seconds: number): string {
  if (seconds < 1) return "nearly done";
  return `${seconds < 60 ? `${seconds.toFixed(0)} s` : duration(seconds)} left`;
}

function isOver({ last, opened }: Pace, now: number): boolean {
  return last !== null && (now - last.at >= BURST_MS || now - opened >= LONGEST_BURST_MS);
}

function close(pace: Pace): Pace {
  return { ...pace, first: pace.first ?? pace.last, known: pace.last, over: pace.over + 1 };
}
