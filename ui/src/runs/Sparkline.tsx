/** A line as high as a word, from the first step to the last; the number beside it is the last. */

import { MISSING, number } from "../widgets/numbers";
import { sparkPath } from "./spark";

const WIDTH = 96;
const HEIGHT = 20;

interface SparklineProps {
  readonly values: readonly (number | null)[];
  /** What it is of, for those who cannot see it. */
  readonly what: string;
}

export function Sparkline({ values, what }: SparklineProps) {
  const known = values.filter((value) => value !== null);
  const [first, last] = [known[0], known.at(-1)];
  if (first === undefined || last === undefined) return MISSING;
  return (
    <span className="sparkline">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} role="img" aria-label={`${what}: from ${number(first)} to ${number(last)}`}>
        <path d={sparkPath(values, WIDTH, HEIGHT)} />
      </svg>{" "}
      {number(last)}
    </span>
  );
}
