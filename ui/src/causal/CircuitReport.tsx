/** How far to trust a circuit: what was run of it, how well scores rank, and how much of the model circuits are. */

import type { SweepTable } from "../api/types";
import { ListTable, type Column } from "../widgets/ListTable";
import { count, fixed, grouped, number } from "../widgets/numbers";
import type { Part, Scored } from "./circuit";

type Verification = NonNullable<SweepTable["verification"]>;
type Curve = NonNullable<SweepTable["circuits"]>[number];

interface CircuitReportProps {
  readonly found: SweepTable;
  readonly parts: readonly Part[];
  readonly kind: Scored["kind"];
}

export function CircuitReport({ found, parts, kind }: CircuitReportProps) {
  const { verification, circuits } = found;
  const run = parts.filter(({ exact }) => exact !== null).length;
  return (
    <section className="circuit-report" aria-labelledby="report-title">
      <h3 id="report-title">How far to trust it</h3>
      {verification ? (
        <Verified found={verification} run={run} drawn={parts.length} />
      ) : (
        <p>Every cell was run: nothing here is a guess.</p>
      )}
      {circuits && circuits.length > 0 && <Circuits curves={circuits} kind={kind} />}
    </section>
  );
}

const AT: readonly Column[] = [
  { name: "k", about: "The k strongest." },
  { name: "found", about: "Of the k that attribution puts first, the share among the k strongest exact ones of all that were run." },
  { name: "from", about: "The distance from the baseline of the k-th of those." },
  { name: "in sample", about: "Cells of the random sample that are farther from the baseline than that." },
  { name: "missed", about: "Of the cells that were not run, the greatest share that may be farther, at 95 % confidence." },
];

function Verified({ found, run, drawn }: { readonly found: Verification; readonly run: number; readonly drawn: number }) {
  const { verified, sampled, cells, spearman, spearman_in_sample: inSample, sign_agreement: signs } = found;
  return (
    <>
      <dl className="facts">
        <dt>drawn</dt>
        <dd>
          {run} of {drawn} run exactly{run < drawn && ", the others only attributed"}
        </dd>
        <dt>verified</dt>
        <dd>
          {verified === 0
            ? `none of ${count(cells, "cell")}: all of this is a guess to first order`
            : `${grouped(verified)} of ${count(cells, "cell")}: ${grouped(verified - sampled)} strongest by score, ${grouped(sampled)} at random`}
        </dd>
        {spearman !== null && (
          <>
            <dt>ranks agree</dt>
            <dd>
              {fixed(spearman, 2)} (Spearman{inSample === null ? "" : `; ${fixed(inSample, 2)} in the random sample`})
            </dd>
          </>
        )}
        {verified > 0 && (
          <>
            <dt>signs agree</dt>
            <dd>{signs === null ? "not known: no cell that was run is beyond the noise floor" : `${fixed(100 * signs, 0)} %`}</dd>
          </>
        )}
      </dl>
      {found.at.length > 0 && (
        <ListTable label="Of the strongest" columns={AT}>
          {found.at.map(({ k, precision, threshold, stronger_in_sample: stronger, missed_at_most: missed }) => (
            <tr key={k}>
              <th scope="row">{k}</th>
              <td>{fixed(100 * precision, 0)} %</td>
              <td>{number(threshold)}</td>
              <td>{stronger}</td>
              <td>{missed === null ? "not known" : `≤ ${fixed(100 * missed, 1)} %`}</td>
            </tr>
          ))}
        </ListTable>
      )}
    </>
  );
}

const CIRCUITS: readonly Column[] = [
  { name: "size", about: "How many of the strongest." },
  { name: "faithful", about: "The share of the model's gap between the prompts that the circuit wins: 0 does nothing, 1 does what the model does." },
  { name: "at random", about: "The same of as many drawn at random." },
  { name: "without it", about: "Completeness: the share that everything else wins. Near 0, nothing else does the job." },
];

function Circuits({ curves, kind }: { readonly curves: readonly Curve[]; readonly kind: Scored["kind"] }) {
  const [first, random] = [curves.find(({ rule }) => rule !== "random"), curves.find(({ rule }) => rule === "random")];
  return (
    <>
      <p className="muted">
        Run as circuits, the clean prompt inside and the corrupt one outside, of this one pair: faithfulness and completeness.
      </p>
      <ListTable label={`Circuits of ${kind}`} columns={CIRCUITS}>
        {first?.points.map(({ size, share, faithfulness, completeness }, n) => (
          <tr key={size}>
            <th scope="row">
              {grouped(size)} <small className="muted">{number(100 * share)} %</small>
            </th>
            <td>{shareText(faithfulness)}</td>
            <td>{shareText(random?.points[n]?.faithfulness)}</td>
            <td>{shareText(completeness)}</td>
          </tr>
        ))}
      </ListTable>
    </>
  );
}

function shareText(share: Curve["points"][number]["faithfulness"] | undefined): string {
  return share?.mean == null ? (share?.reason ?? "not known") : fixed(share.mean, 2);
}
