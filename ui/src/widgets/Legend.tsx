/** The colours from the least value to the greatest, with the baseline marked. */

import { cssColor, type Theme } from "./colors";
import { fractionOf, kindOf, textOf, type Scale } from "./scale";
import "./legend.css";

const STEPS = 48;

export interface LegendProps {
  readonly scale: Scale;
  readonly theme: Theme;
  /** What the colours stand for. */
  readonly label?: string | undefined;
  /** Which signs are explained beside it. */
  readonly keys: readonly LegendKey[];
}

export type LegendKey = "max" | "min" | "noise" | "doubt" | "none";

const KEY_TEXT: Record<LegendKey, string> = {
  max: "largest",
  min: "smallest",
  noise: "within the noise floor",
  doubt: "not significant",
  none: "no number",
};

export function Legend({ scale, theme, label, keys }: LegendProps) {
  const span = scale.high - scale.low;
  const at = scale.baseline === null || span === 0 ? null : (scale.baseline - scale.low) / span;
  return (
    <div className="legend">
      {label && <span className="legend-label">{label}</span>}
      {span === 0 && scale.baseline !== null ? (
        <span className="legend-key">no value differs from the baseline, {textOf(scale, scale.baseline)}</span>
      ) : (
        <span className="legend-bar">
          <span>{textOf(scale, scale.low)}</span>
          <span className="legend-colors" aria-hidden="true">
            {Array.from({ length: STEPS }, (_, step) => (
              <i key={step} style={{ background: colorAt(scale, theme, step) }} />
            ))}
            {at !== null && <b style={{ left: `${100 * at}%` }} />}
          </span>
          <span>{textOf(scale, scale.high)}</span>
        </span>
      )}
      {at !== null && (
        <span className="legend-key">
          <i className="key-tick" />
          baseline {textOf(scale, scale.baseline)}
        </span>
      )}
      {keys.map((key) => (
        <span key={key} className="legend-key">
          <i className={`key-${key}`} />
          {KEY_TEXT[key]}
        </span>
      ))}
    </div>
  );
}

function colorAt(scale: Scale, theme: Theme, step: number): string {
  const value = scale.low + ((scale.high - scale.low) * step) / (STEPS - 1);
  return cssColor(kindOf(scale), theme, fractionOf(scale, value));
}
