/**
 * Spikes of the reconstruction loss: moments at which a dictionary suddenly explains the policy much
 * worse. A column is one if its highest loss is more than `TIMES` typical deviations above the
 * median of the columns before it; both are medians, so that a spike does not hide the next. What comes
 * again and again (the first token of every completion, say) is how the run is, and no spike.
 */

const BEFORE = 32;
const TIMES = 8;
const ENOUGH = 8;
/** As many columns around it that stand out as far, and it is a habit. */
const HABIT = 2;

export function spikesOf(highs: readonly (number | null)[]): number[] {
  const found: number[] = [];
  highs.forEach((high, column) => {
    if (high === null) return;
    const before = highs.slice(Math.max(0, column - BEFORE), column).filter((each) => each !== null);
    if (before.length < ENOUGH) return;
    const middle = median(before);
    const typical = median(before.map((each) => Math.abs(each - middle)));
    const least = 0.01 * Math.abs(middle); // a run that stands still has no typical deviation
    const far = middle + TIMES * Math.max(typical, least);
    if (high <= far) return;
    const around = highs.filter((each, at) => at !== column && Math.abs(at - column) <= BEFORE && each !== null && each > far);
    const usual = Math.max(middle, ...around.map((each) => each ?? middle));
    if (around.length < HABIT || high - middle > TIMES * (usual - middle)) found.push(column);
  });
  return found;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? upper) + upper) / 2;
}
