/** What edges are between, and how first-order scores are made and checked. */

import type { Draft } from "./draft";
import {
  circuitSizes,
  EMPTY_EDGES,
  EVERY_EDGE,
  FROZEN,
  FROZEN_MEANING,
  gradientName,
  GRADIENTS,
  hasCircuits,
  type ScoredDraft,
  type Targets,
} from "./edgeDraft";

interface FieldsProps {
  readonly draft: Draft;
  readonly change: (changes: Partial<Draft>) => void;
}

/** Senders and receivers. The server judges the names, and its word for a wrong one stands beside the button. */
export function EdgeFields({ draft, change }: FieldsProps) {
  const { edges } = draft;
  return (
    <>
      <label className="field">
        <span>
          Senders <small>embed, z:9.6, z:9, z, mlp_out:3, all</small>
        </span>
        <input
          type="text"
          className="token-input"
          spellCheck={false}
          value={edges.senders}
          onChange={({ target }) => change({ edges: { ...edges, senders: target.value } })}
        />
      </label>
      <label className="field">
        <span>
          Receivers <small>q:12.4, v:12, mlp:20, logits, total, all</small>
        </span>
        <input
          type="text"
          className="token-input"
          spellCheck={false}
          value={edges.receivers}
          onChange={({ target }) => change({ edges: { ...edges, receivers: target.value } })}
        />
      </label>
      {draft.over === "edges" && (
        <label className="field">
          <span>
            Frozen <small>what the way between them leaves as it is</small>
          </span>
          <select
            value={edges.frozen}
            onChange={({ target }) =>
              change({ edges: { ...edges, frozen: FROZEN.find((each) => each === target.value) ?? "edge" } })
            }
          >
            {FROZEN.map((frozen) => (
              <option key={frozen} value={frozen}>
                {frozen}: {FROZEN_MEANING[frozen]}
              </option>
            ))}
          </select>
        </label>
      )}
    </>
  );
}

const TARGETS: readonly (readonly [Targets, string])[] = [
  ["nodes", "heads and MLPs"],
  ["edges", "edges between them"],
];

/** First-order scores: of what, from which gradient, and how many are run to verify them. */
export function ScoredFields({ draft, change }: FieldsProps) {
  const { scored } = draft;
  const set = (changes: Partial<ScoredDraft>) => change({ scored: { ...scored, ...changes } });
  const number = (name: "steps" | "verify" | "sample", label: string, about: string) => (
    <label className="field">
      <span>
        {label} <small>{about}</small>
      </span>
      <input
        type="number"
        min="0"
        value={scored[name] ?? ""}
        aria-invalid={scored[name] === null}
        onChange={({ target }) => set({ [name]: Number.isInteger(target.valueAsNumber) && target.valueAsNumber >= 0 ? target.valueAsNumber : null })}
      />
    </label>
  );
  return (
    <>
      <div className="choices beside" role="radiogroup" aria-label="What is scored">
        {TARGETS.map(([targets, name]) => (
          <label key={targets} className="choice">
            <input
              type="radio"
              name="targets"
              checked={scored.targets === targets}
              onChange={() => change({ scored: { ...scored, targets }, edges: targets === "edges" ? EVERY_EDGE : EMPTY_EDGES })}
            />
            <span>{name}</span>
          </label>
        ))}
      </div>
      <label className="field">
        <span>
          Gradient <small>where it is taken</small>
        </span>
        <select
          value={scored.gradient}
          onChange={({ target }) => set({ gradient: GRADIENTS.find((each) => each === target.value) ?? "atp" })}
        >
          {GRADIENTS.map((gradient) => (
            <option key={gradient} value={gradient}>
              {gradientName(gradient, scored.targets)}:{" "}
              {gradient === "atp" ? "at the corrupt prompt" : "the mean of points on the way to the clean one"}
            </option>
          ))}
        </select>
      </label>
      <div className="short-fields">
        {number("verify", "Run the first", "strongest by score")}
        {number("sample", "and at random", "of the others")}
        {scored.gradient === "eap-ig" && number("steps", "Points", "of the gradient")}
      </div>
      {hasCircuits(scored, draft.pairs !== "") && (
        <label className="field">
          <span>
            Circuits <small>of so many of the strongest, run together: 10, 40</small>
          </span>
          <input
            type="text"
            value={scored.circuits}
            aria-invalid={circuitSizes(scored.circuits) === null}
            onChange={({ target }) => set({ circuits: target.value })}
          />
        </label>
      )}
      {scored.targets === "nodes" && (
        <label className="choice keep">
          <input type="checkbox" checked={scored.each} onChange={({ target }) => set({ each: target.checked })} />
          <span>at every {draft.pairs === "" ? "position" : "role"} alone</span>
        </label>
      )}
    </>
  );
}
