/** A text of one's own: how active the feature is at each token, on the run's newest weights or the server's model. */

import { useState } from "react";
import { asError } from "../api/errors";
import { tryFeature, type Tried } from "../api/trying";
import type { Theme } from "../widgets/colors";
import { ErrorNote } from "../widgets/ErrorNote";
import { number } from "../widgets/numbers";
import { Heat } from "./Heat";

interface TryTextProps {
  readonly run: string;
  readonly layer: number;
  readonly feature: number;
  readonly checkpoint: number | null;
  /** What the server has loaded. */
  readonly model: string;
  readonly theme: Theme;
}

export function TryText({ run, layer, feature, checkpoint, model, theme }: TryTextProps) {
  const [text, setText] = useState("");
  const [found, setFound] = useState<Tried | null>(null);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  const on = checkpoint === null ? model : `${run}@checkpoint-${checkpoint}`;
  const ask = async () => {
    setBusy(true);
    setFailure(null);
    try {
      setFound(await tryFeature({ text, model: on, dictionary: run, layer, feature }));
    } catch (error) {
      setFound(null);
      setFailure(asError(error));
    }
    setBusy(false);
  };
  const high = Math.max(1e-9, ...(found?.values ?? []).map((value) => value ?? 0));
  return (
    <section className="live-panel wide" aria-labelledby="try">
      <h2 id="try">Try a text of your own</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void ask();
        }}
      >
        <label>
          Text <textarea value={text} rows={2} maxLength={2000} onChange={({ target }) => setText(target.value)} />
        </label>
        <p className="toolbar">
          <button type="submit" disabled={busy || text.trim() === ""}>
            {busy ? "Asking…" : "Show its activations"}
          </button>
          <span className="muted small">on {on}</span>
        </p>
      </form>
      <div role="status">
        {failure && <ErrorNote error={failure} />}
        {found && (
          <p className="text-block">
            <Heat tokens={found.tokens} heats={found.values.map((value) => (value === null ? 0 : Math.max(0, value / high)))} says={(index) => number(found.values[index])} theme={theme} />
          </p>
        )}
        {found && (
          <p className="muted small">
            {found.silent ? "It is active at no token of this text." : `At the most ${number(high)}. Point at a token for its value; the first one is never read.`}
          </p>
        )}
      </div>
    </section>
  );
}
