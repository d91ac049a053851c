/** A table over features: what changing each does, as bars, random directions as long behind them. */

import type { ReactNode } from "react";
import { featureCards } from "../api/analytics";
import type { SweepRecord, SweepTable } from "../api/types";
import { useResource } from "../api/useResource";
import { Link } from "../app/Link";
import { Bar } from "../live/test/Bar";
import { askedOf } from "../live/test/past";
import { findingOf, pValue, randomText, reachOf, verdictOf, type FeatureRow } from "../live/test/testView";
import { ListTable, type Column } from "../widgets/ListTable";
import { decimalsFor, grouped, number, signed } from "../widgets/numbers";
import { Promoted } from "../widgets/Promoted";
import { barsOf, byEffect } from "./features";
import { METRIC_NAME } from "./wording";

const LEVEL = 0.05;

const DONE: Record<string, string> = {
  patch: "made as active as in the clean prompt",
  remove: "removed",
  clamp: "clamped",
};

const COLUMNS: readonly Column[] = [
  { name: "feature", about: "Layer and number." },
  { name: "bar", about: "From nothing in the middle; ticks are random directions as long." },
  { name: "effect", about: "How far the metric moves when it is changed at all of its positions." },
  { name: "random", about: "The same of random directions, from the least to the most." },
  { name: "p", about: "Share of these, the feature among them, that move it at least as far: each feature alone." },
];

const TOGETHER: Record<string, string> = {
  "all features": "every active feature",
  error: "what the dictionary does not explain",
  "all + error": "the whole activation",
};

export interface FeaturesViewProps {
  readonly found: SweepTable;
  readonly record: SweepRecord;
  readonly finished: boolean;
}

export default function FeaturesView({ found, record, finished }: FeaturesViewProps) {
  const { rows, draws } = barsOf(found, finished);
  const asked = askedOf(record, found.notes);
  const together = rows.filter(({ feature }) => feature === null);
  const { layer } = asked;
  const numbers = rows.flatMap(({ feature }) => (feature === null ? [] : [feature]));
  const run = runOf(record);
  const key = layer === null || numbers.length === 0 ? null : `${run ?? ""} ${layer} ${numbers.join()}`;
  const cards = useResource(key, (signal) => featureCards(run, layer ?? 0, numbers, signal));
  const promoted = new Map(cards.data?.features.map((card) => [card.feature, card.promoted]));
  return (
    <>
      <p className="muted">
        Each feature of layer {layer} is {DONE[found.notes.how ?? "patch"]} at all of its positions, and nothing else is
        touched. Bars say how far the {metricName(found)} moves; ticks are random directions of the same length.
      </p>
      {finished && (
        <>
          <p className="verdict">{verdictOf({ rows, draws }, asked)}</p>
          <p>{findingOf({ rows, draws }, DONE[found.notes.how ?? "patch"] ?? "changed", `the ${metricName(found)}`)}</p>
        </>
      )}
      <Bars label="Effects of features" last="promotes" rows={byEffect(rows.filter(({ feature }) => feature !== null))} draws={draws}>
        {{
          name: ({ feature, label }) => (
            <Link href={`/feature/${layer ?? 0}/${feature ?? 0}${run === null ? "" : `?run=${encodeURIComponent(run)}`}`}>{label}</Link>
          ),
          about: ({ feature }) => <Promoted tokens={promoted.get(feature ?? -1)} />,
        }}
      </Bars>
      {together.length > 0 && (
        <>
          <h2>Together, on a scale of their own</h2>
          <Bars label="All features at once" last="what it is" rows={byEffect(together)} draws={draws}>
            {{ name: ({ label }) => label, about: ({ label }) => TOGETHER[label] ?? "" }}
          </Bars>
        </>
      )}
      {found.notes.chosen !== undefined && (
        <p className="muted">
          {grouped(draws)} random directions beside each. Chosen: {found.notes.chosen}.
        </p>
      )}
    </>
  );
}

interface BarsProps {
  readonly label: string;
  readonly rows: readonly FeatureRow[];
  readonly draws: number;
  /** The heading of the last column. */
  readonly last: string;
  /** The first cell of a row, and the last. */
  readonly children: Readonly<Record<"name" | "about", (row: FeatureRow) => ReactNode>>;
}

function Bars({ label, rows, draws, last, children }: BarsProps) {
  const reach = reachOf(rows);
  const decimals = decimalsFor(reach);
  return (
    <ListTable label={label} columns={[...COLUMNS, { name: last }]}>
      {rows.map((row) => {
        const p = pValue(row, draws);
        return (
          <tr key={row.label} className={p !== null && p <= LEVEL ? "significant" : ""} data-done={row.effect !== undefined}>
            <th scope="row">{children.name(row)}</th>
            <td>
              <Bar row={row} reach={reach} />
            </td>
            <td>{row.effect === undefined ? "" : signed(row.effect, decimals)}</td>
            <td>{randomText(row, decimals)}</td>
            <td>{p === null ? "" : number(p)}</td>
            <td className="tokens-cell">{children.about(row)}</td>
          </tr>
        );
      })}
    </ListTable>
  );
}

/** Whose dictionary it was: a run's own, or the one that comes with the model. */
function runOf({ provenance }: SweepRecord): string | null {
  const { features, model, checkpoints } = provenance.request as {
    features?: { dictionary?: string | null };
    model?: string | null;
    checkpoints?: { run: string } | null;
  };
  return features?.dictionary ?? checkpoints?.run ?? /^(.+)@checkpoint-\d+$/.exec(model ?? "")?.[1] ?? null;
}

function metricName({ metric }: SweepTable): string {
  return metric in METRIC_NAME ? METRIC_NAME[metric as keyof typeof METRIC_NAME] : metric;
}
