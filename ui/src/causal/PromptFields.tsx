/** The two prompts, and their tokens side by side. */

import type { PromptToken } from "../api/prompts";
import type { Resource } from "../api/useResource";
import { ErrorNote } from "../widgets/ErrorNote";
import { PAIRS } from "../widgets/look.generated";
import { count, ranges } from "../widgets/numbers";
import { AlignedTokens } from "./AlignedTokens";
import type { AlignedPrompts } from "./alignment";
import type { Draft } from "./draft";
import { exampleDraft } from "./examples";

interface PromptFieldsProps {
  readonly draft: Draft;
  readonly change: (changes: Partial<Draft>) => void;
  readonly clean: Resource<PromptToken[]>;
  readonly corrupt: Resource<PromptToken[]>;
  readonly aligned: AlignedPrompts | null;
}

export function PromptFields({ draft, change, clean, corrupt, aligned }: PromptFieldsProps) {
  const failure = clean.error ?? corrupt.error;
  return (
    <fieldset>
      <legend className="unseen">Prompts</legend>
      <div className="field-head">
        <h2>Prompts</h2>
        <ExamplePicker draft={draft} change={change} />
      </div>
      <label className="field">
        <span>
          Clean <small>shows the behaviour; activations are taken from it</small>
        </span>
        <textarea
          rows={2}
          spellCheck={false}
          value={draft.clean}
          onChange={(event) => change({ clean: event.target.value, positions: "all", run: "" })}
        />
      </label>
      <label className="field">
        <span>
          Corrupt <small>does not; it is patched</small>
        </span>
        <textarea
          rows={2}
          spellCheck={false}
          value={draft.corrupt}
          onChange={(event) => change({ corrupt: event.target.value, positions: "all" })}
        />
      </label>
      {failure && <ErrorNote error={failure} />}
      {aligned && clean.data && corrupt.data && (
        <>
          <AlignedTokens
            clean={clean.data}
            corrupt={corrupt.data}
            aligned={aligned}
            positions={draft.positions}
            onPositions={(positions) => change({ positions })}
          />
          <PositionLine draft={draft} change={change} aligned={aligned} />
        </>
      )}
    </fieldset>
  );
}

function ExamplePicker({ draft, change }: Pick<PromptFieldsProps, "draft" | "change">) {
  const current = PAIRS.find((pair) => pair.clean === draft.clean && pair.corrupt === draft.corrupt);
  return (
    <select
      aria-label="Example prompts"
      value={current?.name ?? ""}
      title={current?.shows}
      onChange={(event) => {
        const { clean, corrupt, answer, foil } = exampleDraft(event.target.value);
        change({ clean, corrupt, answer, foil, positions: "all", run: "" });
      }}
    >
      <option value="" disabled>
        examples
      </option>
      {PAIRS.map((pair) => (
        <option key={pair.name} value={pair.name}>
          {pair.name}
        </option>
      ))}
    </select>
  );
}

function PositionLine({
  draft,
  change,
  aligned,
}: Pick<PromptFieldsProps, "draft" | "change"> & { readonly aligned: AlignedPrompts }) {
  const patchable = aligned.columns.flatMap(({ corrupt }) =>
    corrupt === null || aligned.unaligned.has(corrupt) ? [] : [corrupt],
  );
  const differing = aligned.columns.flatMap(({ corrupt, differs }) =>
    differs && corrupt !== null && patchable.includes(corrupt) ? [corrupt] : [],
  );
  return (
    <p className="position-line">
      {draft.positions === "all" ? (
        <span className="muted">All {count(patchable.length, "position")}; click tokens to choose some.</span>
      ) : (
        <>
          <span>
            {draft.positions.length === 1 ? "Position" : "Positions"} {ranges(draft.positions)}
          </span>
          <button type="button" className="link-button" onClick={() => change({ positions: "all" })}>
            all
          </button>
        </>
      )}
      {aligned.unaligned.size > 0 && (
        <span className="muted">
          {count(aligned.unaligned.size, "token")} without a counterpart: choose a pairing below.
        </span>
      )}
      {differing.length > 0 && differing.length < patchable.length && (
        <button type="button" className="link-button" onClick={() => change({ positions: differing })}>
          only where they differ
        </button>
      )}
    </p>
  );
}
