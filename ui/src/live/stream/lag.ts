/**
 * How far the page is behind the trainer. Only health lines say when they were written; one that was
 * written long before it came is history, and says nothing about lag.
 */

const HISTORY_SECONDS = 60;

export function lagOf({ time }: { readonly time: number }, now: number): number | null {
  const seconds = now / 1000 - time;
  return seconds > HISTORY_SECONDS ? null : Math.max(seconds, 0);
}
