/** What changing a feature did, as a bar from nothing; what random directions did, as ticks behind it. */

import type { FeatureRow } from "./testView";
import "./bar.css";

const WIDTH = 150;
const HEIGHT = 20;

/** The numbers stand beside it in the row. */
export function Bar({ row, reach }: { readonly row: Pick<FeatureRow, "effect" | "random">; readonly reach: number }) {
  const at = (value: number) => WIDTH / 2 + (value / reach) * (WIDTH / 2 - 4);
  const { effect, random } = row;
  return (
    <svg className="effect-bar" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} aria-hidden="true">
      {effect !== null && effect !== undefined && (
        <rect
          className={effect < 0 ? "effect-down" : "effect-up"}
          x={Math.min(at(0), at(effect))}
          width={Math.max(1, Math.abs(at(effect) - at(0)))}
          y={5}
          height={10}
        />
      )}
      {random.map(
        (value, index) =>
          value !== null && <line key={index} className="effect-random" x1={at(value)} x2={at(value)} y1={1} y2={HEIGHT - 1} />,
      )}
      <line className="effect-zero" x1={at(0)} x2={at(0)} y1={0} y2={HEIGHT} />
    </svg>
  );
}
