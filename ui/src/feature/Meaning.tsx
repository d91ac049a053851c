/** What a feature means, as far as the text it was described on can show it. */

import type { Feature, Snippet } from "../api/analytics";
import type { Theme } from "../widgets/colors";
import { fixed, number } from "../widgets/numbers";
import { tokenLabel } from "../widgets/tokens";
import { Heat } from "./Heat";

/** More often than this, and a feature tells little: it fires nearly everywhere. */
export const DENSE = 0.1;

export function Meaning({ feature, theme, most = Infinity }: { readonly feature: Feature; readonly theme: Theme; readonly most?: number }) {
  const { label } = feature;
  return (
    <>
      {label && (
        <p>
          <b>{label.text}</b>
          <br />
          <span className="muted small">
            {label.score === null
              ? `not scored: ${label.reason ?? ""}`
              : `${label.measure ?? "score"} ${fixed(label.score, 2)}${label.examples == null ? "" : ` on ${label.examples} snippets`}`}{" "}
            · {label.source}
          </span>
        </p>
      )}
      <dl className="live-facts">
        <dt>active</dt>
        <dd>
          {feature.rate === 0
            ? "on no token of the text it was described on"
            : `on ${number(100 * feature.rate)} % of the tokens it was described on`}
          {feature.rate > DENSE && (
            <span className="dense">. It fires nearly everywhere: that it is active says little.</span>
          )}
        </dd>
        <dt>promotes</dt>
        <dd>
          <Tokens tokens={feature.promoted} by={feature.promoted_by ?? []} />
        </dd>
        <dt>suppresses</dt>
        <dd>
          <Tokens tokens={feature.suppressed} by={feature.suppressed_by ?? []} />
        </dd>
      </dl>
      {feature.snippets.length > 0 && <h3>Most active on, in the text it was described on</h3>}
      <ul className="snippets">
        {feature.snippets.slice(0, most).map((snippet, index) => (
          <li key={index}>
            <span className="muted" title="Activation at the strongest token, in the dictionary's own units">
              {number(snippet.value)}
            </span>{" "}
            <SnippetText snippet={snippet} theme={theme} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** With how far each logit is moved, in standard deviations, where that was kept. */
function Tokens({ tokens, by }: { readonly tokens: readonly string[]; readonly by: readonly number[] }) {
  if (tokens.length === 0) return <>nothing more than random directions do</>;
  return (
    <span className="tokens-cell">
      {tokens.map((token, index) => (
        <bdi key={index}>
          {tokenLabel(token)}
          {by.length === tokens.length && <span className="muted"> {fixed(by[index], 1)}</span>}
        </bdi>
      ))}
    </span>
  );
}

function SnippetText({ snippet, theme }: { readonly snippet: Snippet; readonly theme: Theme }) {
  return (
    <Heat
      tokens={snippet.tokens}
      heats={snippet.tokens.map((_, index) => Number(snippet.heat[index] ?? "0") / 9)}
      says={(index) => number((snippet.value * Number(snippet.heat[index] ?? "0")) / 9)}
      theme={theme}
    />
  );
}
