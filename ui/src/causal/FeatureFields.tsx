/** Which features are the cells, and what becomes of each. The server judges the numbers. */

import type { Draft } from "./draft";
import { featureNumbers, HOW, HOW_MEANING, WHICH, WHICH_MEANING, type FeatureDraft } from "./featureDraft";

interface FeatureFieldsProps {
  readonly draft: Draft;
  readonly change: (changes: Partial<Draft>) => void;
  /** Layers that there is a dictionary for. */
  readonly layers: readonly number[];
}

export function FeatureFields({ draft, change, layers }: FeatureFieldsProps) {
  const { features } = draft;
  const set = (changes: Partial<FeatureDraft>) => change({ features: { ...features, ...changes } });
  const offered = features.layer === null || layers.includes(features.layer) ? layers : [...layers, features.layer];
  return (
    <>
      <div className="short-fields">
        <label className="field">
          <span>
            Dictionary <small>by its layer</small>
          </span>
          <select
            value={features.layer ?? ""}
            aria-invalid={features.layer === null}
            onChange={({ target }) => set({ layer: target.value === "" ? null : Number(target.value) })}
          >
            {features.layer === null && <option value="">none is here</option>}
            {offered.toSorted((one, other) => one - other).map((layer) => (
              <option key={layer} value={layer}>
                layer {layer}
              </option>
            ))}
          </select>
        </label>
        <label className="field">
          <span>Each is made</span>
          <select value={features.how} onChange={({ target }) => set({ how: HOW.find((each) => each === target.value) ?? "patch" })}>
            {HOW.map((how) => (
              <option key={how} value={how}>
                {HOW_MEANING[how]}
              </option>
            ))}
          </select>
        </label>
      </div>
      <div className="short-fields">
        <label className="field">
          <span>Features</span>
          <select
            value={features.which}
            onChange={({ target }) => set({ which: WHICH.find((each) => each === target.value) ?? "strongest" })}
          >
            {WHICH.map((which) => (
              <option key={which} value={which}>
                {WHICH_MEANING[which]}
              </option>
            ))}
          </select>
        </label>
        {features.which === "named" ? (
          <label className="field">
            <span>
              Numbers <small>748, 3844</small>
            </span>
            <input
              type="text"
              className="token-input"
              value={features.numbers}
              aria-invalid={!featureNumbers(features.numbers)?.length}
              onChange={({ target }) => set({ numbers: target.value })}
            />
          </label>
        ) : (
          <label className="field">
            <span>How many</span>
            <input
              type="number"
              min="1"
              value={features.top ?? ""}
              aria-invalid={features.top === null}
              onChange={({ target }) => set({ top: Number.isInteger(target.valueAsNumber) && target.valueAsNumber > 0 ? target.valueAsNumber : null })}
            />
          </label>
        )}
      </div>
      <p className="muted small">Nineteen random directions, each as long as what is written, stand behind every bar.</p>
    </>
  );
}
