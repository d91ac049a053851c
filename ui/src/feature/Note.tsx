/** What somebody noted of a feature, kept with the run. */

import { useState } from "react";
import { asError } from "../api/errors";
import { keepNote, notesOf } from "../api/features";
import { useResource } from "../api/useResource";
import { ErrorNote } from "../widgets/ErrorNote";
import { ago } from "../widgets/numbers";
import { useNow } from "../widgets/useNow";

interface NoteProps {
  readonly run: string;
  readonly layer: number;
  readonly feature: number;
}

export function Note({ run, layer, feature }: NoteProps) {
  const notes = useResource(`notes ${run}`, (signal) => notesOf(run, signal));
  const kept = notes.data?.notes?.[`${layer}.${feature}`];
  const [edited, setEdited] = useState<string | null>(null);
  const [said, setSaid] = useState("");
  const [failure, setFailure] = useState<Error | null>(null);
  const now = useNow() / 1000;
  const text = edited ?? kept?.text ?? "";
  const keep = async () => {
    setFailure(null);
    try {
      await keepNote(run, layer, feature, text);
      notes.reload();
      setSaid("Kept with the run.");
    } catch (error) {
      setFailure(asError(error));
    }
  };
  return (
    <section className="live-panel wide" aria-labelledby="note">
      <h2 id="note">Note</h2>
      {notes.error && <ErrorNote error={notes.error} onRetry={notes.reload} />}
      <label>
        <span className="unseen">Note on this feature</span>
        <textarea value={text} rows={3} maxLength={4000} onChange={({ target }) => setEdited(target.value)} />
      </label>
      <p className="toolbar">
        <button type="button" disabled={edited === null || edited === kept?.text} onClick={() => void keep()}>
          Keep it
        </button>
        <span role="status" className="muted small">
          {said}
          {kept ? ` Written ${ago(now - kept.written)}.` : ""}
        </span>
      </p>
      {failure && <ErrorNote error={failure} />}
    </section>
  );
}
