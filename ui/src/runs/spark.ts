/** The path of a sparkline: gaps stay gaps, and a line that is flat lies in the middle. */

const EDGE = 2;

export function sparkPath(values: readonly (number | null)[], width: number, height: number): string {
  const known = values.filter((value) => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (index: number) => (values.length < 2 ? width / 2 : EDGE + (index / (values.length - 1)) * (width - 2 * EDGE));
  const y = (value: number) =>
    high === low ? height / 2 : EDGE + ((high - value) / (high - low)) * (height - 2 * EDGE);
  let drawing = false;
  const parts = values.map((value, index) => {
    const move = value === null ? "" : `${drawing ? "L" : "M"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    drawing = value !== null;
    return move;
  });
  const path = parts.join("");
  return known.length === 1 ? `${path}h0.1` : path;
}
