/** What a chosen token of a completion leads to: a test of its features on the run's own weights, and Causal. */

import type { TokenFeatures } from "../../api/analytics";
import { Link } from "../../app/Link";
import { ErrorNote } from "../../widgets/ErrorNote";
import { quoted } from "../../widgets/tokens";
import type { Scene } from "../scene";
import { useStart } from "../test/useStart";
import { causalFor, PROMPT_END } from "../view/inspect";
import { whyNotTested } from "../view/testing";

interface TokenChosenProps {
  readonly scene: Scene;
  readonly generation: string;
  readonly at: number;
  readonly prompt: string;
  /** Null where it is not known how the text was split. */
  readonly texts: readonly string[] | null;
  readonly tokens: readonly TokenFeatures[];
  /** How many tokens the text has. */
  readonly said: number;
  readonly layer: number | null;
  /** The one that is coloured: it is tested with the others. */
  readonly feature: number | null;
}

export function TokenChosen({ scene, generation, at, prompt, texts, tokens, said, layer, feature }: TokenChosenProps) {
  const { run, go, able } = scene;
  const { busy, error, start } = useStart((test) => go({ test }));
  const name = nameOf(texts, at);
  const next = texts?.[at + 1];
  const why = run.last_checkpoint === null ? "This run has no checkpoint yet." : whyNotTested(tokens, layer, at, said);
  const suspect = { run: run.run, layer: layer ?? 0, feature: feature ?? undefined, generation, token: at };
  return (
    <div className="toolbar" role="group" aria-label={`Token ${name}`}>
      <b>
        <bdi>{name}</bdi>
      </b>
      {able && (
        <button type="button" disabled={busy || why !== null} onClick={() => start(suspect)}>
          {busy ? "Starting…" : "Test it"}
        </button>
      )}
      {texts && <Link href={causalFor(prompt, texts, at)}>{at === PROMPT_END ? "Open in Causal" : "Open in Causal as the answer"}</Link>}
      {able && (
        <span className="muted small">
          {why ??
            `Removes features of layer ${layer ?? ""} up to here, and shows how far ${next === undefined ? "what was said next" : `${quoted(next)}, said next,`} moves.`}
        </span>
      )}
      {error && <ErrorNote error={error} />}
    </div>
  );
}

function nameOf(texts: readonly string[] | null, at: number): string {
  if (at === PROMPT_END) return "end of prompt";
  const text = texts?.[at];
  return text === undefined ? `#${at}` : quoted(text);
}
