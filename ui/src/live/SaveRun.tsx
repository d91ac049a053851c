/** A run to take along: one HTML file that opens without a server. */

import { useState } from "react";
import { asError } from "../api/errors";
import { runPage } from "../api/runs";
import { ErrorNote } from "../widgets/ErrorNote";
import { saveFile } from "../widgets/leaving";

export function SaveRun({ run }: { readonly run: string }) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  const save = async () => {
    setBusy(true);
    setFailure(null);
    try {
      saveFile(await runPage(run), `${run}.html`);
    } catch (error) {
      setFailure(asError(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button
        type="button"
        className="save-run"
        disabled={busy}
        title="This page as one file, with all it shows: it opens without a server"
        onClick={() => void save()}
      >
        {busy ? "Saving" : "Save as HTML"}
      </button>
      {failure && <ErrorNote error={failure} />}
    </>
  );
}
