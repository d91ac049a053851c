/** A sweep that is a table over any axes, heads, features, checkpoints or pairs: as it comes, and when it is over. */

import { useMemo, useState } from "react";
import { asError } from "../api/errors";
import { cancelTable } from "../api/sweeps";
import type { ModelDescription, SweepTable } from "../api/types";
import { lazily } from "../app/lazily";
import type { Theme } from "../widgets/colors";
import { EmptyState } from "../widgets/EmptyState";
import { ErrorNote } from "../widgets/ErrorNote";
import { count, grouped } from "../widgets/numbers";
import { useNow } from "../widgets/useNow";
import { isOfEdges, isOfNodes } from "./circuit";
import { isCourse } from "./course";
import { ExportMenu } from "./ExportMenu";
import { isOfFeatures } from "./features";
import { isOfHeads } from "./heads";
import { leftText, secondsLeft } from "./pace";
import { TableFacts } from "./SweepFacts";
import { TablePanels } from "./TablePanels";
import { isTableOver } from "./tableView";
import type { TableSweep } from "./useTableSweep";
import { wholeTable } from "./whole";
import { askedTokens, METRIC_NAME, tokenWord } from "./wording";

const CircuitView = lazily(() => import("./CircuitView"));
const CourseView = lazily(() => import("./CourseView"));
const FeaturesView = lazily(() => import("./FeaturesView"));
const HeadsView = lazily(() => import("./HeadsView"));
const PairsView = lazily(() => import("./PairsView"));

interface TableResultProps {
  readonly id: string;
  readonly sweep: TableSweep;
  readonly model: ModelDescription;
  readonly theme: Theme;
}

export function TableResult({ id, sweep, model, theme }: TableResultProps) {
  const { record, view, error } = sweep;
  const request = record?.provenance.request;
  const told = view.found ?? record?.table ?? null;
  const found = useMemo(() => (told && request ? wholeTable(told, request) : told), [told, request]);
  if (error && record === null) return <ErrorNote error={error} />;
  if (record === null) return <EmptyState title="Asking for the sweep" />;
  const metric = found?.metric ?? "logprob";
  const name = metric in METRIC_NAME ? METRIC_NAME[metric as keyof typeof METRIC_NAME] : metric;
  const answer = askedTokens(record).answer;
  const failure = view.failure ?? record.error;
  return (
    <section className="result" aria-label="Sweep">
      <header className="result-head">
        <h1>
          {name.charAt(0).toUpperCase() + name.slice(1)}
          {answer !== "" && ` of ${tokenWord(answer)}`}
        </h1>
        <Progress id={id} sweep={sweep} />
      </header>
      {failure !== null && !view.finished && <ErrorNote error={`This sweep has no result: ${failure}`} />}
      {found?.warnings.map((warning) => (
        <p className="muted" key={warning}>
          {warning}
        </p>
      ))}
      {found ? (
        <Body id={id} found={found} sweep={sweep} model={model} theme={theme} />
      ) : (
        failure === null && <EmptyState title={`This sweep is ${record.state}`} />
      )}
      {record.table && record.state === "finished" && <TableFacts found={record.table} record={record} />}
      {record.table && record.state === "finished" && <ExportMenu record={record} />}
    </section>
  );
}

function Body({ id, found, sweep, model, theme }: TableResultProps & { readonly found: SweepTable }) {
  const { record, view } = sweep;
  const request = record?.provenance.request ?? {};
  const finished = view.finished || record?.table != null;
  const heads = model.heads ?? null;
  if (found.pairs != null || view.pairs > 0 || "pairs" in request) {
    return <PairsView id={id} found={found} view={view} finished={finished} heads={heads} layers={model.n_layers} theme={theme} />;
  }
  if (isCourse(found)) return <CourseView found={found} finished={finished} heads={heads} theme={theme} />;
  if (record !== null && isOfFeatures(found)) return <FeaturesView found={found} record={record} finished={finished} />;
  if (heads !== null && (isOfEdges(found) || isOfNodes(found))) {
    return <CircuitView found={found} finished={finished} heads={heads} layers={model.n_layers} theme={theme} />;
  }
  if (heads !== null && isOfHeads(found)) {
    const { clean, corrupt } = request;
    const prompts = typeof clean === "string" && typeof corrupt === "string" ? { clean, corrupt } : null;
    const shared = { found, finished, prompts, theme };
    return <HeadsView {...shared} shape={heads} nLayers={model.n_layers} />;
  }
  return <TablePanels found={found} theme={theme} />;
}

function Progress({ id, sweep }: Pick<TableResultProps, "id" | "sweep">) {
  const [failure, setFailure] = useState<Error | null>(null);
  const now = useNow(1_000);
  const { view, stream, pace } = sweep;
  if (isTableOver(view) || stream === "ended") return null;
  const left = secondsLeft(pace, view.cells, now);
  return (
    <div className="progress">
      <progress max={Math.max(view.cells, 1)} value={view.done} aria-label="Cells computed" />
      <span role="status">
        {view.cells > 0 ? `${grouped(view.done)} of ${count(view.cells, "cell")}` : "waiting"}
        {view.pairs > 0 && `, ${count(view.pairs, "pair")}`}
        {view.verified > 0 && ` scored, ${grouped(view.verified)} run to verify that`}
      </span>
      <span className="muted">{left === null ? "" : leftText(left)}</span>
      <button type="button" onClick={() => void cancelTable(id).catch((error: unknown) => setFailure(asError(error)))}>
        Stop
      </button>
      {failure && <ErrorNote error={failure} />}
    </div>
  );
}
