/** No run yet: where they would be, and how to make one. */

import type { RunList } from "../api/runs";
import { EmptyState } from "../widgets/EmptyState";

export function NoRuns({ list }: { readonly list: RunList }) {
  return (
    <EmptyState title={list.directory_exists ? "No run has been written yet" : "The directory of runs does not exist yet"}>
      <p>
        This page looks into <code>{list.directory}</code> and shows a run the moment a trainer begins to write it.
      </p>
      <p>
        To train one on this machine: <code>sonde train --output-dir {list.directory}</code>
      </p>
    </EmptyState>
  );
}
