/** Ways out of a finished sweep: files, a link, and, of a grid, Python that repeats it. */

import { useState } from "react";
import { asError } from "../api/errors";
import { authorization } from "../api/key";
import { exportSweep, exportTable } from "../api/sweeps";
import type { ExportFormat, SweepRecord } from "../api/types";
import { CopyButton } from "../widgets/CopyButton";
import { ErrorNote } from "../widgets/ErrorNote";
import { saveFile } from "../widgets/leaving";
import { Toolbar } from "../widgets/Toolbar";
import { snippet } from "./snippet";

const FORMATS: readonly ExportFormat[] = ["png", "svg", "html", "csv", "json", "parquet"];

export function ExportMenu({ record }: { readonly record: SweepRecord }) {
  const [busy, setBusy] = useState<ExportFormat | null>(null);
  const [said, setSaid] = useState("");
  const [failure, setFailure] = useState<Error | null>(null);
  const [showPython, setShowPython] = useState(false);
  const isTable = record.kind === "table";
  const python = isTable ? null : snippet(record, window.location.origin, "Authorization" in authorization());

  const download = async (format: ExportFormat) => {
    setBusy(format);
    setFailure(null);
    try {
      saveFile(await (isTable ? exportTable : exportSweep)(record.id, format), `sweep-${record.id.slice(0, 8)}.${format}`);
      setSaid(`Saved as ${format.toUpperCase()}.`);
    } catch (error) {
      setFailure(asError(error));
    } finally {
      setBusy(null);
    }
  };
  return (
    <div className="export">
      <Toolbar label="Export">
        {FORMATS.map((format) => (
          <button key={format} type="button" disabled={busy !== null} onClick={() => void download(format)}>
            {format.toUpperCase()}
          </button>
        ))}
        <CopyButton text={isTable ? window.location.href : `${window.location.origin}/causal/${record.id}`} label="Copy link" what="Link" />
        {python !== null && (
          <button type="button" aria-expanded={showPython} onClick={() => setShowPython((shown) => !shown)}>
            Python
          </button>
        )}
        <span role="status" className="muted">
          {said}
        </span>
      </Toolbar>
      {failure && <ErrorNote error={failure} />}
      {showPython && python !== null && (
        <div className="python">
          <pre tabIndex={0} aria-label="Python that repeats this sweep">
            {python}
          </pre>
          <CopyButton text={python} label="Copy" what="Python" />
        </div>
      )}
    </div>
  );
}
