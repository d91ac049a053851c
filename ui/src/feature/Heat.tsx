/** Text on the colour of how active a feature is at each token; pointing at a token says the value. */

import { cssColor, textOn, type Theme } from "../widgets/colors";
import { tokenLabel } from "../widgets/tokens";

interface HeatProps {
  readonly tokens: readonly string[];
  /** From 0 to 1; null where it is not known. */
  readonly heats: readonly (number | null)[];
  readonly says: (index: number) => string;
  readonly theme: Theme;
}

export function Heat({ tokens, heats, says, theme }: HeatProps) {
  return (
    <span className="snippet">
      {tokens.map((token, index) => {
        const heat = heats[index] ?? 0;
        const text = tokenLabel(token).replaceAll("\u00B7", " ");
        if (heat === 0) return <bdi key={index}>{text}</bdi>;
        const background = cssColor("sequential", theme, heat);
        return (
          <mark key={index} title={says(index)} style={{ background, color: textOn(background) }}>
            <bdi>{text}</bdi>
          </mark>
        );
      })}
    </span>
  );
}
