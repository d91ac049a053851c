/** What is graded: the metric, the answer, the foil, and the gap between the two prompts. */

import type { NextToken } from "../api/prompts";
import type { Resource } from "../api/useResource";
import { ErrorNote } from "../widgets/ErrorNote";
import { number } from "../widgets/numbers";
import { AnswerField } from "./AnswerField";
import { METRICS, type Draft } from "./draft";
import type { Baselines } from "./usePrompts";
import { METRIC_MEANING, METRIC_NAME } from "./wording";

interface GradeFieldsProps {
  readonly draft: Draft;
  readonly change: (changes: Partial<Draft>) => void;
  readonly afterClean: Resource<NextToken[]>;
  readonly afterCorrupt: Resource<NextToken[]>;
  readonly baselines: Resource<Baselines>;
}

export function GradeFields({ draft, change, afterClean, afterCorrupt, baselines }: GradeFieldsProps) {
  return (
    <fieldset>
      <legend className="unseen">What is graded</legend>
      <h2>What is graded</h2>
      <div className="choices" role="radiogroup" aria-label="Metric">
        {METRICS.map((metric) => (
          <label key={metric} className="choice">
            <input type="radio" name="metric" checked={draft.metric === metric} onChange={() => change({ metric })} />
            <span>
              {METRIC_NAME[metric]} <small>{METRIC_MEANING[metric]}</small>
            </span>
          </label>
        ))}
      </div>
      <AnswerField
        label="Answer"
        about="the clean prompt's, one token"
        value={draft.answer}
        offered={afterClean.data}
        offeredAfter="clean"
        onChange={(answer) => change({ answer })}
      />
      {draft.metric === "logit_diff" && (
        <AnswerField
          label="Foil"
          about="its rival, the corrupt prompt's"
          value={draft.foil}
          offered={afterCorrupt.data}
          offeredAfter="corrupt"
          onChange={(foil) => change({ foil })}
        />
      )}
      {baselines.error && <ErrorNote error={baselines.error} />}
      {baselines.data && (
        <Gap
          baselines={baselines.data}
          same={draft.clean === draft.corrupt}
          metric={draft.metric === "logit_diff" ? "logit difference" : "log-probability"}
        />
      )}
    </fieldset>
  );
}

interface GapProps {
  readonly baselines: Baselines;
  readonly metric: string;
  /** Whether the two prompts are one and the same. */
  readonly same: boolean;
}

function Gap({ baselines: { clean, corrupt }, metric, same }: GapProps) {
  const small = Math.abs(clean - corrupt) < 0.1;
  return (
    <p className="gap" data-small={small}>
      Unpatched {metric}: clean <b>{number(clean)}</b>, corrupt <b>{number(corrupt)}</b>.{" "}
      {same
        ? "The two prompts are the same, so every cell would equal the baseline: change the word in the corrupt one that the answer depends on."
        : small && "The prompts hardly differ in it, so a sweep has little to explain."}
    </p>
  );
}
