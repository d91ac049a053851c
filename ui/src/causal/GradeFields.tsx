/** What is graded: the metric, the answer, the foil, and the gap between the two prompts. */

import type { NextToken } from "../api/prompts";
import type { Resource } from "../api/useResource";
import { ErrorNote } from "../widgets/ErrorNote";
import { number } from "../widgets/numbers";
import { AnswerField } from "./AnswerField";
import { offerOf } from "./doubts";
import { METRICS, type Draft } from "./draft";
import type { Baselines } from "./usePrompts";
import { METRIC_MEANING, METRIC_NAME, tokenWord } from "./wording";

interface GradeFieldsProps {
  readonly draft: Draft;
  readonly change: (changes: Partial<Draft>) => void;
  readonly afterClean: Resource<NextToken[]>;
  readonly afterCorrupt: Resource<NextToken[]>;
  readonly baselines: Resource<Baselines>;
}

export function GradeFields({ draft, change, afterClean, afterCorrupt, baselines }: GradeFieldsProps) {
  const ofPairs = draft.pairs !== "";
  const offer = ofPairs ? null : offerOf(draft, afterClean.data, afterCorrupt.data);
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
      {offer && (
        <p className="offer">
          The prompts themselves say <b>{tokenWord(offer.answer)}</b> and <b>{tokenWord(offer.foil)}</b>.{" "}
          <button type="button" className="link-button" onClick={() => change(offer)}>
            Ask about these
          </button>
        </p>
      )}
      {!ofPairs && (
        <AnswerField
          label="Answer"
          about="the clean prompt's, one token"
          value={draft.answer}
          offered={afterClean.data}
          offeredAfter="clean"
          onChange={(answer) => change({ answer })}
        />
      )}
      {!ofPairs && draft.metric === "logit_diff" && (
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
        <Gap baselines={baselines.data} metric={METRIC_NAME[draft.metric === "logit_diff" ? "logit_diff" : "logprob"]} />
      )}
    </fieldset>
  );
}

interface GapProps {
  readonly baselines: Baselines;
  readonly metric: string;
}

/** The two numbers between which a sweep moves; what is wrong with them stands beside the button. */
function Gap({ baselines: { clean, corrupt }, metric }: GapProps) {
  return (
    <p className="gap">
      Unpatched {metric}: clean <b>{number(clean)}</b>, corrupt <b>{number(corrupt)}</b>.
    </p>
  );
}
