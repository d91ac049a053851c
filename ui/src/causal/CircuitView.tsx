/** Edges, or heads and MLPs, as the circuit of the strongest: drawn, listed, as a matrix, and how far to trust it. */

import { memo, useMemo, useState } from "react";
import type { HeadShape, SweepTable } from "../api/types";
import { navigate, queryOf, useAddress, withQuery } from "../app/location";
import type { Theme } from "../widgets/colors";
import { EmptyState } from "../widgets/EmptyState";
import { ListTable, type Column } from "../widgets/ListTable";
import { count, decimalsFor, grouped, number, signed } from "../widgets/numbers";
import { isOfEdges, matrixOf, nodesIn, scoredOf, sizeOf, sizesOf, valueOf, type Part, type Scored } from "./circuit";
import { CircuitDrawing } from "./CircuitDrawing";
import { CircuitReport } from "./CircuitReport";
import { TablePanels } from "./TablePanels";

export interface CircuitViewProps {
  readonly found: SweepTable;
  readonly finished: boolean;
  readonly heads: HeadShape;
  readonly layers: number;
  readonly theme: Theme;
}

const EDGES = { name: "edges", about: "what a receiver alone reads of a sender's change" };
/** A side of the matrix that is still shown whole. */
const WHOLE = 48;

export default function CircuitView({ found, finished, heads, layers, theme }: CircuitViewProps) {
  const address = useAddress();
  const scored = useMemo(() => scoredOf(found), [found]);
  const sizes = useMemo(() => sizesOf(scored.parts.length), [scored]);
  const size = sizeOf(queryOf(address).get("strongest"), sizes);
  const parts = useMemo(() => scored.parts.slice(0, size), [scored, size]);
  const ofEdges = isOfEdges(found);
  const matrix = useMemo(() => (ofEdges ? matrixFor(found, parts) : found), [ofEdges, found, parts]);
  const [marked, setMarked] = useState<string | null>(null);
  if (!finished) return <EmptyState title="The circuit is drawn when all cells have a number" />;
  const shape = { ...heads, layers };
  return (
    <>
      {parts.length > 0 && (
        <section className="circuit-part" aria-labelledby="circuit-title">
          <h2 id="circuit-title">The strongest {scored.kind} as a circuit</h2>
          <Threshold
            scored={scored}
            parts={parts}
            sizes={sizes}
            onSize={(next) => navigate(withQuery(address, { strongest: String(next) }), { replace: true })}
          />
          <div className="circuit-beside">
            <CircuitDrawing scored={scored} parts={parts} shape={shape} marked={marked} onMark={setMarked} />
            <CircuitReport found={found} parts={parts} kind={scored.kind} />
          </div>
          <Lists scored={scored} parts={parts} shape={shape} marked={marked} onMark={setMarked} />
        </section>
      )}
      <section aria-labelledby="matrix-title" className="circuit-part">
        <h2 id="matrix-title">{ofEdges ? "Senders by receivers" : "Every head and MLP"}</h2>
        {matrix !== found && (
          <p className="muted">Senders and receivers of the {count(parts.length, "edge")} above, every edge between them; the CSV has all.</p>
        )}
        {ofEdges ? <TablePanels found={matrix} theme={theme} caption={EDGES} /> : <TablePanels found={matrix} theme={theme} heads={heads} />}
      </section>
    </>
  );
}

/** All of a small table; of a large one, what the circuit's edges have. */
function matrixFor(found: SweepTable, parts: readonly Part[]): SweepTable {
  const sides = found.tables[0]?.axes.map(({ values }) => values.length) ?? [];
  return sides.some((side) => side > WHOLE) && parts.length > 0 ? matrixOf(found, parts) : found;
}

interface ThresholdProps {
  readonly scored: Scored;
  readonly parts: readonly Part[];
  readonly sizes: readonly number[];
  readonly onSize: (size: number) => void;
}

function Threshold({ scored, parts, sizes, onSize }: ThresholdProps) {
  const least = Math.abs(parts.at(-1)?.score ?? 0);
  const run = parts.filter(({ exact }) => exact !== null).length;
  const said = `${parts.length} of ${grouped(scored.parts.length)} ${scored.kind}: those that score ${number(least)} or more, either way`;
  return (
    <>
      <label className="threshold">
        <span>Threshold</span>
        <input
          type="range"
          min="0"
          max={sizes.length - 1}
          value={Math.max(sizes.indexOf(parts.length), 0)}
          aria-valuetext={said}
          onChange={({ target }) => onSize(sizes[target.valueAsNumber] ?? parts.length)}
        />
        <span role="status">{said}.</span>
      </label>
      <p className="muted circuit-keys">
        <span className="key-line" data-sign="up" /> raises the metric <span className="key-line" data-sign="down" /> lowers it{" "}
        <span className="key-line" /> run exactly: {run} <span className="key-line" data-dashed="true" /> only attributed:{" "}
        {parts.length - run}. Width is the size of the effect
        {scored.kind === "edges" && "; a head is entered at the left for its query, in the middle for its key, at the right for its value"}.
      </p>
    </>
  );
}

const PART_COLUMNS: readonly Column[] = [
  { name: "name" },
  { name: "attributed", about: "How far it moves the metric, to first order." },
  { name: "exact", about: "The same by running it; empty where it was not run." },
];
const NODE_COLUMNS: readonly Column[] = [
  { name: "node" },
  { name: "edges", about: "How many of those that are drawn it sends or reads." },
  { name: "strongest", about: "The strongest of these." },
];

interface ListsProps {
  readonly scored: Scored;
  readonly parts: readonly Part[];
  readonly shape: HeadShape;
  readonly marked: string | null;
  readonly onMark: (name: string | null) => void;
}

/** What is drawn, in lists: the same parts, by the same threshold. */
function Lists({ scored, parts, shape, marked, onMark }: ListsProps) {
  const decimals = decimalsFor(Math.max(...parts.map((part) => Math.abs(valueOf(part)))));
  const nodes = useMemo(() => nodesIn(parts, shape.heads, shape.kv_heads), [parts, shape.heads, shape.kv_heads]);
  return (
    <div className="circuit-lists">
      <ListTable label={scored.kind === "edges" ? "Edges of the circuit" : "Nodes of the circuit"} tall columns={PART_COLUMNS}>
        {parts.map((part) => (
          <PartRow key={part.name} part={part} decimals={decimals} marked={part.name === marked} onMark={onMark} />
        ))}
      </ListTable>
      {scored.kind === "edges" && (
        <ListTable label="Nodes of the circuit" tall columns={NODE_COLUMNS}>
          {nodes.map(({ node, edges, value }) => (
            <tr key={node}>
              <th scope="row">
                <code>{node}</code>
              </th>
              <td>{edges}</td>
              <td>{signed(value, decimals)}</td>
            </tr>
          ))}
        </ListTable>
      )}
    </div>
  );
}

interface PartRowProps {
  readonly part: Part;
  readonly decimals: number;
  readonly marked: boolean;
  readonly onMark: (name: string | null) => void;
}

const PartRow = memo(function PartRow({ part, decimals, marked, onMark }: PartRowProps) {
  return (
    <tr data-marked={marked} onPointerEnter={() => onMark(part.name)} onPointerLeave={() => onMark(null)}>
      <th scope="row">
        <code>{part.name}</code>
      </th>
      <td>{signed(part.score, decimals)}</td>
      <td>{part.exact === null ? "" : signed(part.exact, decimals)}</td>
    </tr>
  );
});
