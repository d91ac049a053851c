/** One test of features: what changing each does to the token that was said, beside random directions. */

import { useMemo, useState } from "react";
import { featureCards } from "../../api/analytics";
import { asError } from "../../api/errors";
import { cancelTable, exportTable, type TableRequest } from "../../api/tests";
import type { ExportFormat, SweepState } from "../../api/types";
import { useResource } from "../../api/useResource";
import { Link } from "../../app/Link";
import { CopyButton } from "../../widgets/CopyButton";
import { ErrorNote } from "../../widgets/ErrorNote";
import { saveFile } from "../../widgets/leaving";
import { ListTable, type Column } from "../../widgets/ListTable";
import { count, number, signed } from "../../widgets/numbers";
import { Promoted } from "../../widgets/Promoted";
import { quoted, tokenLabel } from "../../widgets/tokens";
import { Panel } from "../panels/Panel";
import type { Scene } from "../scene";
import { Bar } from "./Bar";
import { RewardRows } from "./RewardRows";
import { askedOf } from "./past";
import { chosenHow, findingOf, pValue, randomText, reachOf, verdictOf, type Chosen } from "./testView";
import { useStart } from "./useStart";
import { useTest, type Test } from "./useTest";

const FORMATS: readonly ExportFormat[] = ["html", "png", "csv", "json"];
const END = 12;
const LEVEL = 0.05;

const HOW: Record<Chosen, string> = {
  attribution: "attribution",
  asked: "you asked",
  brightest: "brightest",
};

const ENDINGS: Partial<Record<SweepState, string>> = {
  cancelled: "This test was stopped. The bars that were ready are shown.",
  interrupted: "The server ended while this test ran, so it has no result.",
};

export function TestPanel({ scene, id }: { readonly scene: Scene; readonly id: string }) {
  const test = useTest(id);
  const { view, record } = test;
  const asked = useMemo(() => askedOf(record, view.summary?.notes), [record, view.summary]);
  const over = view.summary !== null || view.failure !== null;
  const notes = view.summary?.notes ?? {};
  return (
    <Panel
      title="Test on the checkpoint"
      tools={
        <button type="button" className="quiet-button" onClick={() => scene.go({ test: null })}>
          Close
        </button>
      }
    >
      {asked.ofReward ? (
        <p className="panel-about">
          Completions sampled from the run's checkpoint on prompts it was not trained on, without and with the feature
          removed at every position, graded by the run's own verifier; beside random directions as long.
        </p>
      ) : (
      <p className="panel-about">
          {asked.model === null ? "" : `On ${asked.model}: `}
          each feature of layer {asked.layer ?? "…"} is removed at all of its positions, and nothing else is touched. Bars
          say how far {metricWords(view.start?.metric)} moves
          {notes.foil === undefined ? "" : `, against ${quoted(notes.foil)}`}; ticks are random directions of the
          same length. Features were chosen by attribution, not by how bright they are; the brightest stand beside them.
        </p>
      )}
      <Prompt test={test} />
      {test.error && <ErrorNote error={test.error} />}
      <Ending test={test} request={asked.request} onStarted={(next) => scene.go({ test: next })} />
      {!over && test.stream !== "ended" && <Progress id={id} test={test} />}
      {view.reward && <RewardRows found={view.reward} />}
      {view.summary !== null && !asked.ofReward && (
        <>
          <p className="verdict">{verdictOf(view, asked)}</p>
          <p>{findingOf(view, "removed", metricWords(view.start?.metric))}</p>
        </>
      )}
      {view.rows.length > 0 && !asked.ofReward && <Rows test={test} scene={scene} asked={asked} />}
      {view.summary?.notes.chosen !== undefined && !asked.ofReward && (
        <p className="muted small">
          Chosen: {view.summary.notes.chosen}. Writing back what was read changes it by{" "}
          {number(Math.max(0, ...view.summary.controls.map((each) => each.difference)))}. p counts the random directions
          that move it as far, each feature alone.
        </p>
      )}
      <p className="toolbar">
        <Link href={`/causal/${id}?as=table`}>In the history</Link>
        <CopyButton text={window.location.href} label="Copy link" what="Link" />
        {view.summary !== null && <Exports id={id} />}
      </p>
    </Panel>
  );
}

function metricWords(metric: string | undefined): string {
  return metric === "logprob" ? "the log-probability of what was said" : "the logit of what was said";
}

/** The end of the prompt: what the answer follows. */
function Prompt({ test: { view } }: { readonly test: Test }) {
  const tokens = view.start?.tokens.prompt;
  if (tokens === undefined || tokens.length === 0) return null; // a test of the reward has no one prompt
  return (
    <p className="text-block" aria-label="End of the prompt">
      {tokens.length > END && "…"}
      <bdi>{tokens.slice(-END).map(tokenLabel).join("")}</bdi>
      {view.summary?.notes.answer !== undefined && (
        <>
          {" "}
          <b>→</b> <bdi>{tokenLabel(view.summary.notes.answer)}</bdi>
        </>
      )}
    </p>
  );
}

function Progress({ id, test: { view, stream } }: { readonly id: string; readonly test: Test }) {
  const [stopping, setStopping] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  const stop = async () => {
    setStopping(true);
    try {
      await cancelTable(id);
    } catch (error) {
      setFailure(asError(error));
    }
    setStopping(false);
  };
  const said =
    stream === "disconnected"
      ? "connection lost, trying again"
      : view.cells > 0
        ? `${view.done} of ${count(view.cells, "cell")}`
        : (view.loading ?? "waiting for the server");
  const sampling = view.loading !== null && view.cells > 0 ? view.loading : said;
  return (
    <div className="progress">
      <progress max={Math.max(view.cells, 1)} value={view.done} aria-label="Cells computed" />
      <span role="status">{sampling}</span>
      <button type="button" disabled={stopping} onClick={() => void stop()}>
        Stop
      </button>
      {failure && <ErrorNote error={failure} />}
    </div>
  );
}

interface EndingProps {
  readonly test: Test;
  readonly request: TableRequest | null;
  readonly onStarted: (id: string) => void;
}

function Ending({ test: { record, view, stream }, request, onStarted }: EndingProps) {
  const { busy, error, again } = useStart(onStarted);
  if (stream !== "ended" || view.summary !== null || record === null || record.state === "finished") return null;
  const text = ENDINGS[record.state] ?? `This test failed: ${view.failure ?? record.error ?? "no reason was given"}`;
  return (
    <ErrorNote error={error ?? text}>
      {request && (
        <button type="button" disabled={busy} onClick={() => again(request)}>
          Run it again
        </button>
      )}
    </ErrorNote>
  );
}

const COLUMNS: readonly Column[] = [
  { name: "feature", about: "Layer and number." },
  { name: "effect", about: "From nothing in the middle; ticks are random directions as long." },
  { name: "removed", about: "How far the metric moves when it is removed everywhere." },
  { name: "random", about: "The same of random directions, from the least to the most." },
  { name: "p", about: "Share of these, the feature among them, that move it at least as far." },
  { name: "chosen by", about: "Attribution: its effect to first order is among the largest. Brightest: most active at the last token." },
  { name: "promotes", about: "Tokens that its direction makes likelier." },
];

function Rows({ test: { view }, scene, asked }: { readonly test: Test; readonly scene: Scene; readonly asked: ReturnType<typeof askedOf> }) {
  const reach = reachOf(view.rows);
  const numbers = view.rows.flatMap(({ feature }) => (feature === null ? [] : [feature]));
  const { layer } = asked;
  const cards = useResource(layer === null ? null : `${scene.run.run} ${layer} ${numbers.join()}`, (signal) =>
    featureCards(scene.run.run, layer ?? 0, numbers, signal),
  );
  const promoted = new Map(cards.data?.features.map((card) => [card.feature, card.promoted]));
  return (
    <ListTable label="Effects of features" columns={COLUMNS}>
      {view.rows.map((row, index) => {
        const p = pValue(row, view.draws);
        return (
          <tr key={row.label} className={p !== null && p <= LEVEL ? "significant" : ""} data-done={row.effect !== undefined}>
            <th scope="row">
              {row.feature === null || layer === null ? (
                row.label
              ) : (
                <button
                  type="button"
                  className="link-button"
                  onClick={() => scene.go({ feature: { layer, feature: row.feature ?? 0 } })}
                >
                  {row.label}
                </button>
              )}
            </th>
            <td>
              <Bar row={row} reach={reach} />
            </td>
            <td>{row.effect === undefined ? "" : signed(row.effect, 2)}</td>
            <td>{randomText(row, 2)}</td>
            <td>{p === null ? "" : number(p)}</td>
            <td>{chosenHow(row, index, asked).map((how) => HOW[how]).join(", ")}</td>
            <td className="tokens-cell">
              <Promoted tokens={promoted.get(row.feature ?? -1)} />
            </td>
          </tr>
        );
      })}
    </ListTable>
  );
}

function Exports({ id }: { readonly id: string }) {
  const [failure, setFailure] = useState<Error | null>(null);
  const download = async (format: ExportFormat) => {
    setFailure(null);
    try {
      saveFile(await exportTable(id, format), `test-${id.slice(0, 8)}.${format}`);
    } catch (error) {
      setFailure(asError(error));
    }
  };
  return (
    <>
      {FORMATS.map((format) => (
        <button key={format} type="button" onClick={() => void download(format)}>
          {format.toUpperCase()}
        </button>
      ))}
      {failure && <ErrorNote error={failure} />}
    </>
  );
}
