/** Where and how: weights, hooks, layers, features, pairing, alpha, and the source run. */

import type { RunRow } from "../api/runs";
import type { Capabilities, Hook, Pairing, SourceRun } from "../api/types";
import { HOOK_MEANING } from "../widgets/look.generated";
import type { AlignedPrompts } from "./alignment";
import { CourseFields } from "./CourseFields";
import { EMPTY_DRAFT, HEAD_HOOKS, hooksOver, isOfEdges, PAIRINGS, parseLayers, type Draft, type Over } from "./draft";
import { EMPTY_EDGES, EMPTY_SCORED } from "./edgeDraft";
import { EdgeFields, ScoredFields } from "./EdgeFields";
import { EMPTY_FEATURES } from "./featureDraft";
import { FeatureFields } from "./FeatureFields";

interface WhereFieldsProps {
  readonly draft: Draft;
  readonly change: (changes: Partial<Draft>) => void;
  readonly capabilities: Capabilities;
  readonly aligned: AlignedPrompts | null;
  /** Source runs that are kept. */
  readonly runs: readonly SourceRun[];
  /** Training runs that have checkpoints. */
  readonly trained: readonly RunRow[];
}

const OVER: readonly (readonly [Over, string])[] = [
  ["sites", "whole layers"],
  ["heads", "single heads"],
  ["features", "features"],
  ["edges", "edges"],
  ["attribution", "attribution"],
];

const PAIRING_MEANING: Record<Pairing, string> = {
  strict: "leave them out",
  first: "pair from the first on",
  last: "pair from the last back",
  proportional: "spread over the other span",
  mean: "each takes the other span's mean",
};

export function WhereFields({ draft, change, capabilities, aligned, runs, trained }: WhereFieldsProps) {
  const { n_layers: nLayers, hooks } = capabilities.model;
  const badLayers = parseLayers(draft.layers, nLayers) === null;
  const hasHooks = draft.over === "sites" || draft.over === "heads";
  const ofFeatures = draft.over === "features";
  const own = trained.find(({ run }) => run === draft.course.run)?.layers ?? [];
  const dictionaries = [...new Set([...(capabilities.dictionary_layers ?? []), ...own])];
  const toggle = (hook: Hook, on: boolean) =>
    change({ hooks: hooksOver(draft.over).filter((each) => (each === hook ? on : draft.hooks.includes(each))) });
  return (
    <fieldset>
      <legend className="unseen">Where it is patched</legend>
      <h2>Where it is patched</h2>
      {capabilities.model.heads && (
        <div className="choices beside" role="radiogroup" aria-label="What a cell is">
          {OVER.map(([over, name]) => (
            <label key={over} className="choice">
              <input
                type="radio"
                name="over"
                checked={draft.over === over}
                onChange={() => change({ over, ...usualOf(over, dictionaries) })}
              />
              <span>{name}</span>
            </label>
          ))}
        </div>
      )}
      {hasHooks && (
        <div className="choices" role="group" aria-label="Hooks">
          {hooksOver(draft.over).filter((hook) => hooks.includes(hook)).map((hook) => (
            <label key={hook} className="choice">
              <input
                type="checkbox"
                checked={draft.hooks.includes(hook)}
                onChange={(event) => toggle(hook, event.target.checked)}
              />
              <span>
                <code>{hook}</code> <small>{HOOK_MEANING[hook]}</small>
              </span>
            </label>
          ))}
        </div>
      )}
      {ofFeatures && <FeatureFields draft={draft} change={change} layers={dictionaries} />}
      {draft.over === "attribution" && <ScoredFields draft={draft} change={change} />}
      {isOfEdges(draft) && <EdgeFields draft={draft} change={change} />}
      <div className="short-fields">
        {!isOfEdges(draft) && !ofFeatures && (
          <label className="field">
            <span>
              Layers <small>all, 0-{nLayers - 1}, 0:{nLayers}:5</small>
            </span>
            <input
              type="text"
              value={draft.layers}
              aria-invalid={badLayers}
              onChange={(event) => change({ layers: event.target.value })}
            />
          </label>
        )}
        <label className="field">
          <span>
            Alpha <small>1 replaces</small>
          </span>
          <input
            type="number"
            step="0.1"
            value={draft.alpha ?? ""}
            aria-invalid={draft.alpha === null}
            onChange={({ target }) =>
              change({ alpha: Number.isNaN(target.valueAsNumber) ? null : target.valueAsNumber })
            }
          />
        </label>
      </div>
      {aligned?.hasMiddle && (
        <label className="field">
          <span>
            Pairing <small>of tokens without a counterpart</small>
          </span>
          <select
            value={draft.pairing}
            onChange={(event) =>
              change({ pairing: PAIRINGS.find((each) => each === event.target.value) ?? "strict", positions: "all" })
            }
          >
            {PAIRINGS.map((pairing) => (
              <option key={pairing} value={pairing}>
                {pairing}: {PAIRING_MEANING[pairing]}
              </option>
            ))}
          </select>
        </label>
      )}
      {draft.pairs === "" && <CourseFields draft={draft} change={change} runs={trained} />}
      {draft.over === "sites" && draft.pairs === "" && draft.course.run === "" && <SourceField draft={draft} change={change} runs={runs} />}
    </fieldset>
  );
}

/** What a draft begins with when the cells become these. */
function usualOf(over: Over, dictionaries: readonly number[]): Partial<Draft> {
  const layer = dictionaries[Math.floor(dictionaries.length / 2)] ?? null;
  return {
    hooks: over === "heads" ? HEAD_HOOKS : EMPTY_DRAFT.hooks,
    positions: "all",
    edges: EMPTY_EDGES,
    scored: EMPTY_SCORED,
    features: over === "features" ? { ...EMPTY_FEATURES, layer } : EMPTY_FEATURES,
  };
}

function SourceField({ draft, change, runs }: Pick<WhereFieldsProps, "draft" | "change" | "runs">) {
  return (
    <div className="short-fields">
      <label className="field">
        <span>Source run</span>
        <select value={draft.run} onChange={(event) => change({ run: event.target.value })}>
          <option value="">new</option>
          {runs.map((run) => (
            <option key={run.run} value={run.run}>
              {run.run}
            </option>
          ))}
          {draft.run !== "" && !runs.some((run) => run.run === draft.run) && (
            <option value={draft.run}>{draft.run} (gone: captured again)</option>
          )}
        </select>
      </label>
      <label className="choice keep">
        <input type="checkbox" checked={draft.keep} onChange={(event) => change({ keep: event.target.checked })} />
        <span>keep it afterwards</span>
      </label>
    </div>
  );
}
