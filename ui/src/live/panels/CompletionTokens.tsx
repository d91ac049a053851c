/** A completion's tokens, coloured by how active one feature is on each. A token leads to Causal. */

import { useMemo } from "react";
import type { TokenFeatures } from "../../api/analytics";
import { navigate } from "../../app/location";
import { cssColor, type Theme } from "../../widgets/colors";
import { Legend } from "../../widgets/Legend";
import { fractionOf, scaleOf } from "../../widgets/scale";
import { readable } from "../../widgets/tokens";
import { TokenStrip, type StripToken } from "../../widgets/TokenStrip";
import { plainTextOn } from "../view/ink";
import { activationsOf, causalFor } from "../view/inspect";

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
  /** What Causal would open with; null where there is no Causal. */
  readonly prompt: string | null;
}

export function CompletionTokens(props: CompletionTokensProps) {
  const { texts, tokens, layer, feature, theme, prompt } = props;
  const values = useMemo(
    () => (layer === null || feature === null ? new Map<number, number>() : activationsOf(tokens, layer, feature)),
    [tokens, layer, feature],
  );
  const scale = useMemo(() => scaleOf([0, ...values.values()], null), [values]);
  const colorAt = (position: number): StripToken["color"] => {
    const value = values.get(position);
    if (value === undefined || value === 0) return undefined;
    const background = cssColor("sequential", theme, fractionOf(scale, value));
    return { background, text: plainTextOn(background) };
  };
  const shown: StripToken[] = texts
    ? texts.map((text, position) => ({ text, position, differs: values.has(position), color: colorAt(position) }))
    : [...values.keys()].map((position) => ({ text: `#${position}`, position, color: colorAt(position) }));
  const onToggle = texts && prompt !== null ? { onToggle: (at: number) => navigate(causalFor(prompt, texts, at)) } : {};
  return (
    <>
      {texts === null && (
        <p className="text-block">
          <bdi>{readable(props.completion)}</bdi>
        </p>
      )}
      {shown.length > 0 && <TokenStrip label="Tokens of the completion" tokens={shown} {...onToggle} />}
      {values.size > 0 && (
        <Legend scale={scale} theme={theme} label={`activation of feature ${feature ?? ""}`} keys={[]} />
      )}
      <p className="muted small">
        {props.reason ??
          (texts === null
            ? `${values.size} of ${props.total} tokens were recorded; which piece of the text each is, only a server with the model can say.`
            : `${values.size} of ${props.total} tokens were recorded (underlined). ${prompt === null ? "" : "Click a token to open Causal with it as the answer."}`)}
      </p>
    </>
  );
}
