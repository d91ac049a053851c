/** Sweeps of the past: open one, or see how it differs from the one that is shown. */

import { useEffect, useState } from "react";
import type { SweepEntry } from "../api/types";
import { Link } from "../app/Link";
import { EmptyState } from "../widgets/EmptyState";
import { ErrorNote } from "../widgets/ErrorNote";
import { ListTable, type Column } from "../widgets/ListTable";
import { ago, count, grouped } from "../widgets/numbers";
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
  const [wanted, setWanted] = useState("");
  const every = found.data?.sweeps ?? [];
  const sweeps = every.filter((entry) => isFound(entry, wanted));
  return (
    <section className="history" aria-labelledby="history-title">
      <h2 id="history-title">History</h2>
      {found.error && <ErrorNote error={found.error} />}
      {found.data && every.length === 0 && <EmptyState title="No sweep has been run on this server yet" />}
      {every.length > 0 && (
        <label className="field search">
          <span>
            Search <small>prompts, answers and hooks, among the {grouped(every.length)} that are listed</small>
          </span>
          <input type="search" value={wanted} onChange={(event) => setWanted(event.target.value)} />
        </label>
      )}
      {every.length > 0 && sweeps.length === 0 && <p className="muted">None of them has that.</p>}
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

/** Whether a sweep was asked something with these words in it, in any order and case. */
export function isFound({ id, provenance }: Pick<SweepEntry, "id" | "provenance">, words: string): boolean {
  const asked = `${id} ${JSON.stringify(provenance.request)}`.toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => asked.includes(word));
}

/** Of a sweep over many only their number and a digest are kept. */
function pairCount(pairs: unknown): number | null {
  const known = typeof pairs === "object" && pairs !== null && "count" in pairs ? pairs.count : null;
  return typeof known === "number" ? known : null;
}

interface RowProps extends HistoryProps {
  readonly entry: SweepEntry;
  readonly now: number;
}

function Row({ entry, now, shown, comparable, comparedWith }: RowProps) {
  const { request } = entry.provenance;
  const { answer } = askedTokens(entry);
  const metric = typeof request.metric === "string" ? request.metric : "logprob";
  const given = request.prompt ?? request.corrupt;
  const pairs = pairCount(request.pairs);
  const prompt = typeof given === "string" ? given : pairs === null ? `sweep ${entry.id.slice(0, 8)}` : count(pairs, "pair");
  const isTable = entry.kind === "table";
  const name = metric in METRIC_NAME ? METRIC_NAME[metric as keyof typeof METRIC_NAME] : metric;
  const canCompare = comparable && !isTable && shown !== null && entry.id !== shown && entry.state === "finished";
  return (
    <tr aria-current={entry.id === shown ? "true" : undefined}>
      <td className="prose" title={prompt.length > EXCERPT ? prompt : undefined}>
        <Link href={`/causal/${entry.id}${isTable ? "?as=table" : ""}`}>{fit(visible(prompt), EXCERPT)}</Link>
      </td>
      <td>
        {name}
        {answer !== "" && ` of ${tokenWord(answer)}`}
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
  return state === "finished" ? count(cells, "cell") : `${grouped(done)} of ${count(cells, "cell")}`;
}
