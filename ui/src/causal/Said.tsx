/** What somebody says of a sweep, its name and a note; and its end, which is asked about first. */

import { useState, type SyntheticEvent } from "react";
import { asError } from "../api/errors";
import { forgetSweep, remarkSweep } from "../api/sweeps";
import type { SweepEntry } from "../api/types";
import { currentAddress, navigate } from "../app/location";
import { ErrorNote } from "../widgets/ErrorNote";
import { remarksOf, UNTOUCHED, withoutSweep } from "./past";

interface SaidProps {
  readonly entry: SweepEntry;
  readonly reload: () => void;
}

export function Said({ entry, reload }: SaidProps) {
  const [written, setWritten] = useState(UNTOUCHED);
  const [told, setTold] = useState("");
  const [failure, setFailure] = useState<Error | null>(null);
  const remarks = remarksOf(entry, written);
  const attempt = async (what: () => Promise<unknown>): Promise<boolean> => {
    setFailure(null);
    try {
      await what();
    } catch (error) {
      setFailure(asError(error));
      return false;
    }
    reload();
    return true;
  };
  const keep = async (event: SyntheticEvent) => {
    event.preventDefault();
    if (remarks && (await attempt(() => remarkSweep(entry.id, remarks)))) setTold("Kept with the sweep.");
  };
  const forget = async () => {
    if (await attempt(() => forgetSweep(entry.id))) {
      navigate(withoutSweep(currentAddress(), entry.id), { replace: true });
    }
  };
  return (
    <form className="said" aria-label="What is said of this sweep" onSubmit={(event) => void keep(event)}>
      <label className="field">
        <span>Name</span>
        <input
          type="text"
          maxLength={120}
          value={written.name ?? entry.name ?? ""}
          onChange={({ target }) => setWritten({ ...written, name: target.value })}
        />
      </label>
      <label className="field">
        <span>Note</span>
        <textarea
          rows={3}
          maxLength={4000}
          value={written.note ?? entry.note ?? ""}
          onChange={({ target }) => setWritten({ ...written, note: target.value })}
        />
      </label>
      <p className="toolbar">
        <button type="submit" disabled={remarks === null}>
          Keep it
        </button>
        <span role="status" className="muted">
          {remarks === null ? told : ""}
        </span>
        <Delete entry={entry} onDelete={() => void forget()} />
      </p>
      {failure && <ErrorNote error={failure} />}
    </form>
  );
}

/** Asks before it does. */
function Delete({ entry, onDelete }: { readonly entry: SweepEntry; readonly onDelete: () => void }) {
  const [asking, setAsking] = useState(false);
  const goesOn = entry.state === "waiting" || entry.state === "running";
  if (goesOn) return <span className="muted push">It is {entry.state}: stop it before it can be deleted.</span>;
  if (!asking) {
    return (
      <button type="button" className="push" onClick={() => setAsking(true)}>
        Delete…
      </button>
    );
  }
  return (
    <span className="asking push" role="group" aria-label="Delete this sweep?">
      Delete this sweep and all it found? It does not come back.{" "}
      <button type="button" onClick={onDelete}>
        Delete it
      </button>{" "}
      <button type="button" autoFocus onClick={() => setAsking(false)}>
        Leave it
      </button>
    </span>
  );
}
