/** Causal tests that were made of a feature so far, and one more with a click. */

import { sweepHistory, tableRecord } from "../api/sweeps";
import type { SweepRecord } from "../api/types";
import { useResource } from "../api/useResource";
import { Link } from "../app/Link";
import { navigate } from "../app/location";
import { askedOf, testsOf } from "../live/test/past";
import { EMPTY_TEST, pValue, reduceTest, tableEventsOf } from "../live/test/testView";
import { useStart } from "../live/test/useStart";
import { ErrorNote } from "../widgets/ErrorNote";
import { ListTable, type Column } from "../widgets/ListTable";
import { number, signed } from "../widgets/numbers";

interface TestsOfFeatureProps {
  readonly run: string;
  readonly layer: number;
  readonly feature: number;
  readonly able: boolean;
}

const LOOKED_AT = 200;
const READ = 24;

const COLUMNS: readonly Column[] = [
  { name: "test" },
  { name: "removed", about: "How far the metric moves when it is removed at all of its positions." },
  { name: "random", about: "The same of random directions of the same length, from the least to the most." },
  { name: "p", about: "Share of these, the feature among them, that move it at least as far." },
];

export function TestsOfFeature({ run, layer, feature, able }: TestsOfFeatureProps) {
  const found = useResource(`tests of ${run} ${layer} ${feature}`, (signal) => load(run, layer, signal));
  const { busy, error, start } = useStart((test) =>
    navigate(`/live/${encodeURIComponent(run)}?feature=${layer}.${feature}&test=${test}`),
  );
  const rows = (found.data ?? []).flatMap((record) => rowOf(record, feature) ?? []);
  return (
    <section className="live-panel wide" aria-labelledby="tests">
      <div className="panel-head">
        <h2 id="tests">Causal tests made so far</h2>
        {able && (
          <button type="button" className="primary" disabled={busy} onClick={() => start({ run, layer, feature })}>
            {busy ? "Starting…" : "Test it"}
          </button>
        )}
      </div>
      {error && <ErrorNote error={error} />}
      {found.data && rows.length === 0 && <p className="muted">None on a checkpoint of this run.</p>}
      {rows.length > 0 && (
        <ListTable label="Causal tests made so far" columns={COLUMNS}>
          {rows.map(({ id, model, effect, random, p }) => (
            <tr key={id}>
              <th scope="row">
                <Link href={`/live/${encodeURIComponent(run)}?feature=${layer}.${feature}&test=${id}`}>{model}</Link>
              </th>
              <td>{signed(effect, 2)}</td>
              <td>{random.length === 0 ? "" : `${signed(Math.min(...random), 2)} to ${signed(Math.max(...random), 2)}`}</td>
              <td>{number(p)}</td>
            </tr>
          ))}
        </ListTable>
      )}
    </section>
  );
}

async function load(run: string, layer: number, signal: AbortSignal): Promise<SweepRecord[]> {
  const { sweeps } = await sweepHistory({ limit: LOOKED_AT }, signal);
  const mine = testsOf(sweeps, run).filter((entry) => entry.state === "finished" && askedOf(entry).layer === layer);
  return Promise.all(mine.slice(0, READ).map(({ id }) => tableRecord(id, signal)));
}

function rowOf(record: SweepRecord, feature: number) {
  if (!record.table) return null;
  const view = reduceTest(EMPTY_TEST, tableEventsOf(record.table));
  const row = view.rows.find((each) => each.feature === feature);
  if (!row) return null;
  const random = row.random.filter((each) => each !== null);
  return { id: record.id, model: askedOf(record).model ?? "", effect: row.effect, random, p: pValue(row, view.draws) };
}
