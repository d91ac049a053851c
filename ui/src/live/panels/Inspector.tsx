/** One generation: its prompt, its completion coloured by a feature, and what it was rewarded for. */

import { useMemo, useState } from "react";
import * as analytics from "../../api/analytics";
import type { GenerationRow } from "../../api/analytics";
import type { RunRow } from "../../api/runs";
import { tokenize } from "../../api/prompts";
import { useResource } from "../../api/useResource";
import { Link } from "../../app/Link";
import { useCopy } from "../../copy/copied";
import { ErrorNote } from "../../widgets/ErrorNote";
import { modelName, number } from "../../widgets/numbers";
import { readable } from "../../widgets/tokens";
import { useAsked, type Scene } from "../scene";
import { candidates, causalFor, fitting, layersOf } from "../view/inspect";
import { shellWord, tokenToTest } from "../view/testing";
import { CompletionTokens } from "./CompletionTokens";
import { Panel } from "./Panel";
import { TestIt } from "./TestIt";
import { TokenChosen } from "./TokenChosen";

interface InspectorProps {
  readonly scene: Scene;
  readonly id: string;
  /** The server's model, which can say what the tokens are; null without one. */
  readonly model: string | null;
}

const OFFERED = 16;

export function Inspector({ scene, id, model }: InspectorProps) {
  const { run, shown, go, live } = scene;
  const asked = useAsked(scene, `generation ${id}`, (signal) => analytics.generation(run.run, id, signal));
  const copy = useCopy();
  const [chosen, setChosen] = useState<number | null>(null);
  const listed =
    live.data.generations.get(id) ?? copy?.generations.generations.find((each) => each.generation_id === id);
  const row: GenerationRow | undefined = asked.data?.generation ?? listed;
  const completion = row?.completion ?? null;
  const texts = useResource(model !== null && completion !== null ? completion : null, async (signal) =>
    (await tokenize(completion ?? "", false, signal)).map(({ text }) => text),
  );
  const tokens = useMemo(() => asked.data?.tokens ?? [], [asked.data]);
  const layers = useMemo(() => layersOf(tokens), [tokens]);
  const layer = shown.feature?.layer ?? shown.layer ?? layers.at(-1) ?? null;
  const all = useMemo(() => (layer === null ? [] : candidates(tokens, layer)), [tokens, layer]);
  const feature = shown.feature?.feature ?? all[0]?.feature ?? null;
  // The one that is coloured is always in the list, however weak it is here.
  const offered = all.filter((each, index) => index < OFFERED || each.feature === feature);
  const pieces = texts.data ?? copy?.pieces[id];
  const split = row && pieces ? fitting(pieces, row.completion_tokens) : null;
  const said = split?.length ?? (row === undefined ? 0 : row.completion_tokens - 1);
  return (
    <Panel
      title={`Generation ${id}`}
      tools={
        <button type="button" className="quiet-button" onClick={() => go({ generation: null })}>
          Close
        </button>
      }
    >
      {asked.error && (!row || copy) && <ErrorNote error={asked.error} onRetry={asked.reload} />}
      {row && (
        <>
          <Rewards row={row} />
          <h3>Prompt</h3>
          <p className="text-block">
            <bdi>{row.prompt === null ? "no longer in the file" : readable(row.prompt)}</bdi>
          </p>
          <h3>Completion</h3>
          {layer !== null && offered.length > 0 && (
            <p className="toolbar">
              <label>
                Layer{" "}
                <select value={layer} onChange={(event) => go({ layer: Number(event.target.value), feature: null })}>
                  {layers.map((each) => (
                    <option key={each}>{each}</option>
                  ))}
                </select>
              </label>
              <label>
                Colour by feature{" "}
                <select
                  value={feature ?? ""}
                  onChange={(event) => go({ feature: { layer, feature: Number(event.target.value) } })}
                >
                  {feature !== null && !offered.some((each) => each.feature === feature) && (
                    <option value={feature}>{feature}: not among the strongest of any token here</option>
                  )}
                  {offered.map((each) => (
                    <option key={each.feature} value={each.feature}>
                      {each.feature}: up to {number(each.high)}, on {each.tokens} of {tokens.length}
                    </option>
                  ))}
                </select>
              </label>
            </p>
          )}
          <CompletionTokens
            theme={scene.theme}
            completion={completion ?? ""}
            texts={split}
            tokens={tokens}
            total={row.completion_tokens}
            layer={layer}
            feature={feature}
            reason={asked.data?.reason ?? null}
            chosen={chosen}
            onChoose={copy || row.prompt === null ? null : (at) => setChosen(at === chosen ? null : at)}
          />
          {chosen !== null && row.prompt !== null && (
            <TokenChosen
              key={chosen}
              scene={scene}
              generation={id}
              at={chosen}
              prompt={row.prompt}
              texts={split}
              tokens={tokens}
              said={said}
              layer={layer}
              feature={feature}
            />
          )}
          {layer !== null && feature !== null && (
            <TestIt
              scene={scene}
              layer={layer}
              feature={feature}
              generation={{
                id,
                step: row.step,
                token: tokenToTest(tokens, layer, feature, said),
              }}
            />
          )}
          {row.prompt !== null && copy === null && (
            <p className="toolbar">
              <Link className="button" href={causalFor(row.prompt, split, null)}>
                Open this prompt in Causal
              </Link>
              <span className="muted small">{loadedText(model, run)}</span>
            </p>
          )}
        </>
      )}
    </Panel>
  );
}

/** Which weights Causal would patch: seldom those that said this. */
function loadedText(model: string | null, { directory, last_checkpoint: last }: RunRow): string {
  if (model?.startsWith(directory)) return `It patches ${modelName(model)} of this run, which this server has loaded.`;
  const loaded =
    model === null ? "This server has no model to patch" : `It patches ${modelName(model)}, not this run's policy`;
  return last === null
    ? `${loaded}.`
    : `${loaded}; for that: sonde serve --model ${shellWord(`${directory}/checkpoint-${last}`)}`;
}

function Rewards({ row }: { readonly row: GenerationRow }) {
  const facts: [string, string, string][] = [
    ["R", number(row.R), "The reward, from 0 to 1: R_A · (0.50·R_B + 0.05·R_C + 0.45·R_D) of the default task"],
    ["gate R_A", row.gate === null ? number(row.R_A) : row.gate ? "passed" : "failed", "Whether it is rewarded at all"],
    ["R_B", number(row.R_B), "Of the default task: share of slots filled with what was described"],
    ["R_C", number(row.R_C), "Of the default task: whether nothing follows the composition"],
    ["R_D", number(row.R_D), "Of the default task: how close the template is in meaning to the described one"],
    [
      "advantage",
      number(row.advantage),
      "How far R is above the other completions of its prompt, in the trainer's units",
    ],
    ["tokens", `${row.completion_tokens}${row.truncated ? ", cut at the limit" : ""}`, "Of the completion"],
  ];
  return (
    <dl className="facts-row">
      {facts.map(([name, value, about]) => (
        <div key={name} title={about}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
