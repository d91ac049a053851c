/**
 * How Sonde writes numbers, as in src/sonde/results/numbers.py: three significant digits, a proper
 * minus sign, units after a space. `examples.generated.json` has what Python writes.
 */

const MINUS = "\u2212";
export const MISSING = "\u2014";

const DIGITS = 3;
const MAX_DECIMALS = 8;

function isNumber(value: number | null | undefined): value is number {
  return value !== null && value !== undefined && Number.isFinite(value);
}

/** A number on its own: 0.660, −5.21, 1,350, 1.20e−7. */
export function number(value: number | null | undefined): string {
  if (!isNumber(value)) return MISSING;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e6) {
    return minus(value.toExponential(DIGITS - 1).replace("+", ""));
  }
  return fixed(value, decimalsFor(value));
}

/** A number beside others: all of them with the same decimals, so that they line up. */
export function fixed(value: number | null | undefined, decimals: number): string {
  if (!isNumber(value)) return MISSING;
  const text = value.toFixed(decimals);
  return Number(text) === 0 ? text.replace("-", "") : minus(separated(text));
}

/** A difference: always with its sign, except when it is nothing. */
export function signed(value: number | null | undefined, decimals: number): string {
  const text = fixed(value, decimals);
  return isNumber(value) && value > 0 && /[1-9]/.test(text) ? `+${text}` : text;
}

/** Decimals that show three significant digits of a number of this size. */
export function decimalsFor(magnitude: number): number {
  if (magnitude === 0 || !Number.isFinite(magnitude)) return DIGITS - 1;
  const exponent = Math.floor(Math.log10(Math.abs(magnitude)));
  return Math.min(Math.max(DIGITS - 1 - exponent, 0), MAX_DECIMALS);
}

/** A count on its own: 27,270. */
export function grouped(n: number): string {
  return separated(String(n));
}

/** A count with its noun: 1 layer, 1,350 cells. */
export function count(n: number, noun: string, plural = `${noun}s`): string {
  return `${grouped(n)} ${n === 1 ? noun : plural}`;
}

/** A time: 7.1 ms, 0.71 s, 12.3 s, 2 min 05 s, 1 h 02 min. */
export function duration(seconds: number): string {
  if (seconds < 0.01) return `${(seconds * 1e3).toFixed(1)} ms`;
  if (seconds < 10) return `${seconds.toFixed(2)} s`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${two(whole % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}

/** How long ago, in one unit: now, 12 s ago, 3 min ago, 5 h ago, 2 d ago. */
export function ago(seconds: number): string {
  if (seconds < 2) return "now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} d ago`;
}

/** Memory: 512 B, 12.3 MiB. */
export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes.toFixed(0)} B`;
  for (const unit of ["KiB", "MiB", "GiB"]) {
    bytes /= 1024;
    if (bytes < 1024) return `${bytes.toFixed(1)} ${unit}`;
  }
  return `${(bytes / 1024).toFixed(1)} TiB`;
}

/** A speed: 380 cells/s. */
export function rate(perSecond: number, noun: string): string {
  return `${number(perSecond)} ${noun}/s`;
}

/** 0–4, 7, 9–12. */
export function ranges(numbers: Iterable<number>): string {
  const runs: [number, number][] = [];
  for (const n of [...new Set(numbers)].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && n === last[1] + 1) last[1] = n;
    else runs.push([n, n]);
  }
  return runs.map(([from, to]) => (from === to ? `${from}` : `${from}\u2013${to}`)).join(", ");
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}

function separated(text: string): string {
  const [whole = "", decimals] = text.split(".");
  const commas = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return decimals === undefined ? commas : `${commas}.${decimals}`;
}

function minus(text: string): string {
  return text.replaceAll("-", MINUS);
}

/** A model by its name: of one that was loaded from a folder, the folder's. */
export function modelName(model: string): string {
  return model.startsWith("/") ? (model.split("/").findLast((part) => part !== "") ?? model) : model;
}
