/** Two finished sweeps: their difference, or both side by side. What cannot be subtracted is not, and that is said. */

import { useMemo } from "react";
import type { HeadShape, SweepRecord } from "../api/types";
import { Link } from "../app/Link";
import { useAddress, queryOf, withQuery } from "../app/location";
import type { Theme } from "../widgets/colors";
import { EmptyState } from "../widgets/EmptyState";
import { ErrorNote } from "../widgets/ErrorNote";
import { csvFile, saveFile } from "../widgets/leaving";
import { number } from "../widgets/numbers";
import { fit, visible } from "../widgets/tokens";
import { difference, differenceTable, foundOf, reachOfBoth, requestDifferences, whyNot, type Found } from "./compare";
import { BothPrompts } from "./HistoryRow";
import { promptsOf, sweepAddress, titleOf } from "./past";
import { TablePanels } from "./TablePanels";
import { useTable } from "./usePast";
import { askedTokens, METRIC_NAME, tokenWord } from "./wording";

interface CompareResultProps {
  readonly record: SweepRecord;
  readonly other: string;
  readonly heads: HeadShape | null;
  readonly theme: Theme;
}

export function CompareResult({ record, other, heads, theme }: CompareResultProps) {
  const address = useAddress();
  const theirs = useTable(other);
  const one = useMemo(() => foundOf(record), [record]);
  const two = useMemo(() => theirs.data && foundOf(theirs.data), [theirs.data]);
  const made = useMemo(() => (one && two ? difference(one, two) : null), [one, two]);
  const refusal = one && two ? whyNot(one, two, made) : null;
  const reach = useMemo(() => (one && two ? reachOfBoth(one, two) : undefined), [one, two]);
  const beside = refusal !== null || queryOf(address).get("beside") === "1";
  const shared = { reach, heads, theme };
  return (
    <section className="result" aria-label={beside ? "Two sweeps side by side" : "Difference of two sweeps"}>
      <header className="result-head">
        <div>
          <h1>{beside || one === null ? "Two sweeps side by side" : `Difference in ${metricName(one)}`}</h1>
          <p className="muted">
            {nameOf(record)} {beside ? "and" : "minus"} {theirs.data ? nameOf(theirs.data) : "…"}
          </p>
          {theirs.data && <Asked one={record} other={theirs.data} />}
        </div>
        <p className="toolbar">
          {refusal === null && (
            <Link className="button" href={withQuery(address, { beside: beside ? null : "1" })}>
              {beside ? "Difference" : "Side by side"}
            </Link>
          )}
          <Link className="button" href={withQuery(address, { with: null, beside: null })}>
            End the comparison
          </Link>
        </p>
      </header>
      {theirs.error && <ErrorNote error={theirs.error} onRetry={theirs.reload} />}
      {theirs.data && two === null && <EmptyState title="The other sweep has no result to compare with" />}
      {refusal && <p className="warning">{refusal}</p>}
      {!beside && made?.warnings.map((warning) => (
        <p key={warning} className="warning">
          {warning}
        </p>
      ))}
      {beside && one && two && theirs.data && (
        <div className="two-sweeps">
          <Side record={record} found={one} {...shared} />
          <Side record={theirs.data} found={two} {...shared} />
        </div>
      )}
      {!beside && made && <TablePanels found={made.found} heads={heads} theme={theme} />}
      {!beside && made && (
        <p>
          <button
            type="button"
            onClick={() =>
              saveFile(csvFile(differenceTable(made)), `difference-${record.id.slice(0, 8)}-${other.slice(0, 8)}.csv`)
            }
          >
            CSV
          </button>
        </p>
      )}
    </section>
  );
}

interface SideProps {
  readonly record: SweepRecord;
  readonly found: Found;
  readonly reach: number | undefined;
  readonly heads: HeadShape | null;
  readonly theme: Theme;
}

function Side({ record, found, reach, heads, theme }: SideProps) {
  const { answer } = askedTokens(record);
  const title = fit(visible(titleOf(record)), 60);
  const prompts = promptsOf(record);
  return (
    <section aria-label={title}>
      <h2>
        <Link href={sweepAddress(record)}>{title}</Link>
      </h2>
      {prompts && <BothPrompts prompts={prompts} most={40} href={null} />}
      <p className="muted">
        {metricName(found)}
        {answer !== "" && ` of ${tokenWord(answer)}`}
        {found.metric !== "recovered" && `: unpatched ${number(found.corrupt[found.metric])}`}
      </p>
      <TablePanels found={found} reach={reach} heads={heads} theme={theme} />
    </section>
  );
}

function Asked({ one, other }: { readonly one: SweepRecord; readonly other: SweepRecord }) {
  const found = requestDifferences(one.provenance.request, other.provenance.request);
  const weights = one.provenance.weights === other.provenance.weights ? [] : ["other weights"];
  const all = [...found, ...weights];
  return <p className="muted">{all.length === 0 ? "Both were asked the same." : `The first had ${all.join("; ")}.`}</p>;
}

function metricName({ metric }: Found): string {
  return metric in METRIC_NAME ? METRIC_NAME[metric as keyof typeof METRIC_NAME] : metric;
}

/** “The Colosseum is in” → “·Paris”, briefly. */
function nameOf(record: SweepRecord): string {
  const { answer } = askedTokens(record);
  return `“${fit(visible(titleOf(record)), 48)}”${answer === "" ? "" : ` → ${tokenWord(answer)}`}`;
}
