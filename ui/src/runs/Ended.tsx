/** A trainer that was killed: at which step, how that is known, and what goes on with the run. */

import type { RunRow } from "../api/runs";
import { CopyButton } from "../widgets/CopyButton";
import { endingText } from "./status";

export function Ended({ run }: { readonly run: Pick<RunRow, "unended"> }) {
  const text = endingText(run);
  if (text === null || !run.unended) return null;
  const { resume, command } = run.unended;
  return (
    <div className="alarm" role="status">
      <p>{text}</p>
      {command ? (
        <div className="toolbar">
          To go on: <code>{resume}</code>
          <CopyButton text={resume} label="Copy" what="Command" />
        </div>
      ) : (
        <p>To go on: {resume}</p>
      )}
    </div>
  );
}
