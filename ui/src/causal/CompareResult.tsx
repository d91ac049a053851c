/** The difference of two finished sweeps. */

import { useMemo } from "react";
import type { SweepRecord, SweepSummary } from "../api/types";
import { Link } from "../app/Link";
import type { Theme } from "../widgets/colors";
import { EmptyState } from "../widgets/EmptyState";
import { ErrorNote } from "../widgets/ErrorNote";
import { csvFile, saveFile } from "../widgets/leaving";
import { fit, visible } from "../widgets/tokens";
import { difference, differenceTable, requestDifferences, whyNot } from "./compare";
import { HeatmapPanels } from "./HeatmapPanels";
import { askedTokens, METRIC_NAME, tokenWord } from "./wording";
import { useRecord } from "./usePast";

interface CompareResultProps {
  readonly record: SweepRecord;
  readonly summary: SweepSummary;
  readonly other: string;
  readonly theme: Theme;
}

export function CompareResult({ record, summary, other, theme }: CompareResultProps) {
  const found = useRecord(other);
  const theirs = found.data?.summary ?? null;
  const made = useMemo(() => theirs && difference(summary, theirs), [summary, theirs]);
  return (
    <section className="result" aria-label="Difference of two sweeps">
      <header className="result-head">
        <div>
          <h1>Difference in {METRIC_NAME[summary.metric]}</h1>
          <p className="muted">
            {nameOf(record)} minus {found.data ? nameOf(found.data) : "…"}
          </p>
          {found.data && <Asked one={record} other={found.data} />}
        </div>
        <Link className="button" href={`/causal/${record.id}`}>
          End the comparison
        </Link>
      </header>
      {found.error && <ErrorNote error={found.error} onRetry={found.reload} />}
      {found.data && theirs === null && <EmptyState title="The other sweep has no result to compare with" />}
      {theirs && made === null && (
        <EmptyState title={whyNot(summary, theirs) ?? "The two sweeps have no cell in common"} />
      )}
      {made?.warnings.map((warning) => (
        <p key={warning} className="warning">
          {warning}
        </p>
      ))}
      {made && <HeatmapPanels axes={made.axes} values={made.values} baseline={0} noise={made.noise} theme={theme} />}
      {made && (
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

function Asked({ one, other }: { readonly one: SweepRecord; readonly other: SweepRecord }) {
  const found = requestDifferences(one.provenance.request, other.provenance.request);
  const weights = one.provenance.weights === other.provenance.weights ? [] : ["other weights"];
  const all = [...found, ...weights];
  return <p className="muted">{all.length === 0 ? "Both were asked the same." : `The first had ${all.join("; ")}.`}</p>;
}

/** “The Colosseum is in” → “·Paris”, briefly. */
function nameOf(record: SweepRecord): string {
  const prompt = record.provenance.request.prompt;
  const text = typeof prompt === "string" ? prompt : "";
  return `“${fit(visible(text), 48)}” → ${tokenWord(askedTokens(record).answer)}`;
}
