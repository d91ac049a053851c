/** A table over many pairs: means as they come, then what is significant, every pair of a cell, and what was dropped. */

import { useMemo, useState } from "react";
import type { HeadShape, SweepTable } from "../api/types";
import { lazily } from "../app/lazily";
import type { Theme } from "../widgets/colors";
import { ErrorNote } from "../widgets/ErrorNote";
import { ListTable } from "../widgets/ListTable";
import { count, number } from "../widgets/numbers";
import { isOfEdges, isOfNodes } from "./circuit";
import { LEVEL, overPairs, pairsOfCell, type CellStatistics } from "./pairs";
import { TablePanels, type Cell } from "./TablePanels";
import type { TableView } from "./tableView";
import { useStatistics } from "./usePairs";

export interface PairsViewProps {
  readonly id: string;
  readonly found: SweepTable;
  readonly view: TableView;
  readonly finished: boolean;
  readonly heads: HeadShape | null;
  readonly layers: number;
  readonly theme: Theme;
}

const CircuitView = lazily(() => import("./CircuitView"));

export default function PairsView({ id, found, view, finished, heads, layers, theme }: PairsViewProps) {
  const [cell, setCell] = useState<Cell | null>(null);
  const means = useMemo(() => (found.pairs ? overPairs(found) : found), [found]);
  const attributed = found.verification != null;
  const statistics = useStatistics(id, finished && !attributed);
  const index = useMemo(() => indexer(means), [means]);
  const dropped = found.dropped ?? view.dropped;
  const doubtful = useMemo(() => {
    const { data } = statistics;
    return data === null ? undefined : (at: Cell) => !isSignificant(data[index(at).line]);
  }, [statistics, index]);
  const about = (at: Cell) => intervalText(statistics.data?.[index(at).line]);
  const at = cell && index(cell);
  return (
    <>
      <p className="muted">
        {finished ? `Means over ${count(found.pairs?.length ?? 0, "pair")}` : `Means over ${count(view.pairs, "pair")} so far`}
        {dropped.length > 0 && `; ${dropped.length} dropped`}
        {finished && (attributed ? ". Scores are to first order; the strongest were run in every pair." : `. Hatched: not significant (family-wise p of ${LEVEL} or more).`)}
      </p>
      {statistics.error && <ErrorNote error={statistics.error} />}
      {attributed && finished && heads && (isOfEdges(means) || isOfNodes(means)) ? (
        <CircuitView found={means} finished heads={heads} layers={layers} theme={theme} />
      ) : (
        <TablePanels found={means} theme={theme} heads={heads} doubtful={doubtful} about={about} onCell={(next) => next && setCell(next)} />
      )}
      {finished && at && <Pairs found={found} table={at.table} cell={at.cell} statistics={statistics.data?.[at.line]} />}
      {dropped.length > 0 && (
        <details className="table-twin">
          <summary>{count(dropped.length, "dropped pair")}</summary>
          <ListTable label="Dropped pairs" columns={[{ name: "Pair" }, { name: "Why" }]}>
            {dropped.map(({ pair, reason }) => (
              <tr key={pair}>
                <td>{pair}</td>
                <td className="prose">{reason}</td>
              </tr>
            ))}
          </ListTable>
        </details>
      )}
    </>
  );
}

/** From a cell of a picture to its table, its place in that, and its line among all cells' statistics. */
function indexer(means: SweepTable) {
  const shown = means.tables.flatMap((table, n) => ((table.kind ?? "cells") === "cells" ? [{ table, n }] : []));
  const starts: number[] = [];
  let start = 0;
  for (const { table } of shown) {
    starts.push(start);
    start += table.axes.reduce((size, axis) => size * axis.values.length, 1);
  }
  return ({ panel, row, column }: Cell) => {
    const axes = shown[panel]?.table.axes ?? [];
    const columns = axes.length > 1 ? (axes.at(-1)?.values.length ?? 1) : 1;
    const cell = row * columns + column;
    return { table: shown[panel]?.n ?? 0, cell, line: (starts[panel] ?? 0) + cell };
  };
}

function isSignificant(told: CellStatistics | undefined): boolean {
  return told?.p != null && told.p < LEVEL;
}

function intervalText(told: CellStatistics | undefined): string {
  if (told?.low == null || told.high == null) return "";
  const p = told.p === null ? "" : `, p ${told.p < 0.001 ? "< 0.001" : `= ${told.p.toFixed(3)}`}`;
  return `95 % interval ${number(told.low)} to ${number(told.high)}, ${count(told.n, "pair")}${p}`;
}

interface PairsProps {
  readonly found: SweepTable;
  readonly table: number;
  readonly cell: number;
  readonly statistics: CellStatistics | undefined;
}

const WIDTH = 640;
const HEIGHT = 74;

/** Every pair of one cell as a dot, the interval of the mean below them. */
function Pairs({ found, table, cell, statistics }: PairsProps) {
  const values = pairsOfCell(found, table, cell);
  const records = found.pairs ?? [];
  const effects = values.map((value, n) => (value === null ? null : value - (records[n]?.corrupt[found.metric] ?? 0)));
  const shown = found.metric === "recovered" ? values : effects;
  const known = shown.filter((value) => value !== null);
  const low = Math.min(0, ...known);
  const high = Math.max(0, ...known);
  const x = (value: number) => 10 + ((WIDTH - 20) * (value - low)) / (high - low || 1);
  const mean = known.reduce((sum, value) => sum + value, 0) / Math.max(known.length, 1);
  const baseline = found.metric === "recovered" ? 0 : (found.corrupt[found.metric] ?? 0);
  const interval = statistics?.low == null || statistics.high == null ? null : [statistics.low - baseline, statistics.high - baseline] as const;
  return (
    <figure className="pair-dots">
      <figcaption>
        <b>Every pair of this cell</b>: mean effect {number(mean)}
        {interval && `, 95 % interval ${number(interval[0])} to ${number(interval[1])}`}.
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${known.length} pairs between ${number(low)} and ${number(high)}`}>
        <line x1={x(0)} x2={x(0)} y1="4" y2={HEIGHT - 4} className="zero" />
        {shown.map((value, n) => value !== null && <circle key={n} cx={x(value)} cy={12 + ((n * 7) % 44)} r="3" />)}
        {interval && (
          <line x1={x(interval[0])} x2={x(interval[1])} y1={HEIGHT - 9} y2={HEIGHT - 9} className="interval" />
        )}
        <line x1={x(mean)} x2={x(mean)} y1={HEIGHT - 16} y2={HEIGHT - 2} className="mean" />
      </svg>
      <details className="table-twin">
        <summary>These pairs as a table</summary>
        <ListTable label="Pairs of this cell" tall columns={[{ name: "Corrupt prompt" }, { name: "Value" }, { name: "Effect" }]}>
          {values.map((value, n) => (
            <tr key={n}>
              <td className="prose">{promptText(records[n]?.prompts.corrupt)}</td>
              <td>{number(value)}</td>
              <td>{number(shown[n])}</td>
            </tr>
          ))}
        </ListTable>
      </details>
    </figure>
  );
}

function promptText(prompt: string | readonly number[] | undefined): string {
  return typeof prompt === "string" ? prompt : prompt === undefined ? "" : `${prompt.length} tokens`;
}
