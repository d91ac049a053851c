/** A completion's tokens, coloured by how active one feature is on each. A token can be chosen. */

import { useMemo } from "react";
import type { TokenFeatures } from "../../api/analytics";
import { cssColor, textOn, type Theme } from "../../widgets/colors";
import { Legend } from "../../widgets/Legend";
import { number } from "../../widgets/numbers";
import { fractionOf, scaleOf } from "../../widgets/scale";
import { readable, wholeCharacters } from "../../widgets/tokens";
import { TokenStrip, type StripToken } from "../../widgets/TokenStrip";
import { activationsOf, PROMPT_END, recordedEvery } from "../view/inspect";

interface CompletionTokensProps {
  readonly theme: Theme;
  readonly completion: string;
  /** Null where it is not known how the text was split. */
  readonly texts: readonly string[] | null;
  readonly tokens: readonly TokenFeatures[];
  readonly total: number;
  readonly layer: number | null;
  readonly feature: number | null;
  readonly reason: string | null;
  readonly chosen: number | null;
  /** A token was clicked; null where it leads nowhere. */
  readonly onChoose: ((at: number) => void) | null;
}

export function CompletionTokens(props: CompletionTokensProps) {
  const { texts, tokens, layer, feature, theme, chosen, onChoose } = props;
  const values = useMemo(
    () => (layer === null || feature === null ? new Map<number, number>() : activationsOf(tokens, layer, feature)),
    [tokens, layer, feature],
  );
  const positions = [...values.keys()].filter((position) => position !== PROMPT_END);
  const every = recordedEvery(positions);
  const recorded = `${every === null ? "" : `${every}: `}${positions.length} of ${props.total} tokens were recorded${values.has(PROMPT_END) ? ", and the last of the prompt" : ""}`;
  const scale = useMemo(() => scaleOf([0, ...values.values()], null), [values]);
  const colorAt = (position: number): StripToken["color"] => {
    const value = values.get(position);
    if (value === undefined || value === 0) return undefined;
    const background = cssColor("sequential", theme, fractionOf(scale, value));
    return { background, text: textOn(background) };
  };
  const saysAt = (position: number): string | undefined => {
    const value = values.get(position);
    return value === undefined ? "not recorded" : value === 0 ? "not among the strongest" : `activation ${number(value)}`;
  };
  const whole = useMemo(() => texts && wholeCharacters(texts, props.completion), [texts, props.completion]);
  const said: StripToken[] = whole
    ? whole.map((text, position) => ({ text, position, differs: values.has(position), color: colorAt(position), says: saysAt(position) }))
    : positions.map((position) => ({ text: `#${position}`, position, color: colorAt(position), says: saysAt(position) }));
  const end = { text: "end of prompt", position: PROMPT_END, differs: true, color: colorAt(PROMPT_END), says: saysAt(PROMPT_END) };
  const shown = (values.has(PROMPT_END) ? [end, ...said] : said).map((each) => ({ ...each, chosen: each.position === chosen }));
  return (
    <>
      {texts === null && (
        <p className="text-block">
          <bdi>{readable(props.completion)}</bdi>
        </p>
      )}
      {shown.length > 0 && <TokenStrip label="Tokens of the completion" tokens={shown} {...(onChoose && { onToggle: onChoose })} />}
      {values.size > 0 && (
        <Legend scale={scale} theme={theme} label={`activation of feature ${feature ?? ""}`} keys={[]} />
      )}
      <p className="muted small">
        {props.reason ??
          (texts === null
            ? `${recorded}; which piece of the text each is, only a server with the model can say.`
            : `${recorded} (underlined). ${onChoose === null ? "" : "Click a token to test its features, or to open Causal with it."}`)}
      </p>
    </>
  );
}
