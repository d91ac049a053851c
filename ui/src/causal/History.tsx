/** Sweeps of the past: open one, or see how it differs from the one that is shown. */

import { useEffect, useState } from "react";
import type { SweepEntry } from "../api/types";
import { Link } from "../app/Link";
import { EmptyState } from "../widgets/EmptyState";
import { ErrorNote } from "../widgets/ErrorNote";
import { ListTable, type Column } from "../widgets/ListTable";
import { ago, count } from "../widgets/numbers";
import { fit, visible } from "../widgets/tokens";
import { useNow } from "../widgets/useNow";
import { useHistory } from "./usePast";
import { askedTokens, METRIC_NAME, tokenWord } from "./wording";

const PAGE = 12;
const EXCERPT = 90;

const COLUMNS: readonly Column[] = [
  { name: "Patched prompt", about: "The corrupt prompt." },
  { name: "Graded", about: "The metric, and the answer it grades." },
  { name: "Cells", about: "Patched runs: hooks times layers times positions." },
  { name: "State" },
  { name: "When" },
  { name: "Compare", unseen: true },
];

interface HistoryProps {
  readonly shown: string | null;
  /** Whether the sweep that is shown can be compared with others. */
  readonly comparable: boolean;
  readonly comparedWith: string | null;
}

/** `stream` is how the shown sweep goes: when that changes, so has the history. */
export function History({ shown, comparable, comparedWith, stream }: HistoryProps & { readonly stream: string }) {
  const [limit, setLimit] = useState(PAGE);
  const found = useHistory(limit);
  const { reload } = found;
  useEffect(reload, [reload, shown, stream]);
  const now = useNow();
  const sweeps = found.data?.sweeps ?? [];
  return (
    <section className="history" aria-labelledby="history-title">
      <h2 id="history-title">History</h2>
      {found.error && <ErrorNote error={found.error} />}
      {found.data && sweeps.length === 0 && <EmptyState title="No sweep has been run on this server yet" />}
      {sweeps.length > 0 && (
        <ListTable label="Sweeps" columns={COLUMNS}>
          {sweeps.map((entry) => (
            <Row
              key={entry.id}
              entry={entry}
              now={now}
              shown={shown}
              comparable={comparable}
              comparedWith={comparedWith}
            />
          ))}
        </ListTable>
      )}
      {found.data?.next != null && (
        <button type="button" onClick={() => setLimit((most) => most + 4 * PAGE)}>
          Show more
        </button>
      )}
    </section>
  );
}

interface RowProps extends HistoryProps {
  readonly entry: SweepEntry;
  readonly now: number;
}

function Row({ entry, now, shown, comparable, comparedWith }: RowProps) {
  const { request } = entry.provenance;
  const { answer } = askedTokens(entry);
  const metric = typeof request.metric === "string" ? request.metric : "logprob";
  const prompt = typeof request.prompt === "string" ? request.prompt : "";
  const name = metric in METRIC_NAME ? METRIC_NAME[metric as keyof typeof METRIC_NAME] : metric;
  const canCompare = comparable && shown !== null && entry.id !== shown && entry.state === "finished";
  return (
    <tr aria-current={entry.id === shown ? "true" : undefined}>
      <td className="prose" title={prompt.length > EXCERPT ? prompt : undefined}>
        <Link href={`/causal/${entry.id}`}>{fit(visible(prompt), EXCERPT)}</Link>
      </td>
      <td>
        {name} of {tokenWord(answer)}
      </td>
      <td>{cellsText(entry)}</td>
      <td data-state={entry.state}>{entry.state}</td>
      <td>{ago((now - Date.parse(entry.created)) / 1000)}</td>
      <td>
        {canCompare && (
          <Link
            href={`/causal/${shown}?with=${entry.id}`}
            aria-current={entry.id === comparedWith ? "true" : undefined}
          >
            compare
          </Link>
        )}
      </td>
    </tr>
  );
}

function cellsText({ cells, done, state }: SweepEntry): string {
  if (cells === null) return "";
  return state === "finished" ? count(cells, "cell") : `${done} of ${count(cells, "cell")}`;
}
