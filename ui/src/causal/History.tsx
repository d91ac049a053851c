/** Sweeps of the past: find one, open it, say something of it, or see how it differs from the one that is shown. */

import { useEffect, useState } from "react";
import { currentAddress, navigate, useAddress } from "../app/location";
import { EmptyState } from "../widgets/EmptyState";
import { ErrorNote } from "../widgets/ErrorNote";
import { ListTable, type Column } from "../widgets/ListTable";
import { useNow } from "../widgets/useNow";
import { HistoryRow } from "./HistoryRow";
import { pastOf, withPast, type PastView } from "./past";
import { useHistory } from "./usePast";

const PAGE = 12;

const COLUMNS: readonly Column[] = [
  { name: "Star", about: "A sweep with a star is never forgotten.", unseen: true },
  { name: "Sweep", about: "Its name, and both prompts with what differs between them marked." },
  { name: "Graded", about: "The metric, and the answer it grades." },
  { name: "Cells", about: "Patched runs: hooks times layers times positions." },
  { name: "State" },
  { name: "When" },
  { name: "Compare, name or delete", unseen: true },
];

interface HistoryProps {
  readonly shown: string | null;
  /** Whether the sweep that is shown can be compared with others. */
  readonly comparable: boolean;
  readonly comparedWith: string | null;
  /** How the shown sweep goes: when that changes, so has the history. */
  readonly stream: string;
}

export function History({ shown, comparable, comparedWith, stream }: HistoryProps) {
  const [limit, setLimit] = useState(PAGE);
  const { search, starred, opened } = pastOf(useAddress());
  const found = useHistory({ limit, search, starred });
  const { reload } = found;
  useEffect(reload, [reload, shown, stream]);
  const now = useNow();
  const sweeps = found.data?.sweeps ?? [];
  const searched = search.trim() !== "" || starred;
  return (
    <section className="history" aria-labelledby="history-title">
      <h2 id="history-title">History</h2>
      {found.error && <ErrorNote error={found.error} />}
      {found.data && sweeps.length === 0 && !searched && (
        <EmptyState title="No sweep has been run on this server yet" />
      )}
      {(sweeps.length > 0 || searched) && (
        <div className="finding">
          <label className="field">
            <span>
              Search <small>names, notes, prompts, answers and hooks</small>
            </span>
            <input type="search" maxLength={200} value={search} onChange={({ target }) => show({ search: target.value })} />
          </label>
          <label className="choice">
            <input type="checkbox" checked={starred} onChange={({ target }) => show({ starred: target.checked })} />
            <span>with a star</span>
          </label>
        </div>
      )}
      {found.data && sweeps.length === 0 && searched && <p className="muted">No sweep has that.</p>}
      {sweeps.length > 0 && (
        <ListTable label="Sweeps" columns={COLUMNS}>
          {sweeps.map((entry) => (
            <HistoryRow
              key={entry.id}
              entry={entry}
              now={now}
              shown={shown}
              opened={entry.id === opened}
              comparable={comparable}
              comparedWith={comparedWith}
              columns={COLUMNS.length}
              reload={reload}
            />
          ))}
        </ListTable>
      )}
      {found.data?.next != null && (
        <button type="button" className="more" onClick={() => setLimit((most) => most + 4 * PAGE)}>
          Show more
        </button>
      )}
    </section>
  );
}

/** Change what is listed or open: the address is where that is kept. */
function show(changes: Partial<PastView>): void {
  const address = currentAddress();
  navigate(withPast(address, { ...pastOf(address), ...changes }), { replace: true });
}
