/**
 * What makes a sweep senseless before it has begun, in sentences. The server runs such a sweep if it
 * is told to: a picture of nothing can be what somebody wants to see.
 */

import type { NextToken } from "../api/prompts";
import type { Estimate } from "../api/types";
import { count, number } from "../widgets/numbers";
import type { Draft } from "./draft";
import type { Baselines } from "./usePrompts";
import { METRIC_NAME, tokenWord } from "./wording";

/** Less than this between the two prompts is no gap. */
export const LEAST_GAP = 0.1;
/** An answer that is neither among the likeliest nor this likely is nobody's. */
const LEAST_LOGPROB = Math.log(0.01);

export interface Known {
  readonly baselines: Baselines | null;
  /** The likeliest tokens after the clean prompt. */
  readonly afterClean: readonly NextToken[] | null;
  readonly estimate: Estimate | null;
}

/** What speaks against a draft, as far as is known; nothing where all is well. */
export function doubtsOf(draft: Draft, { baselines, afterClean, estimate }: Known): string[] {
  if (draft.pairs !== "") return [];
  if (draft.clean !== "" && draft.clean === draft.corrupt) {
    return ["The two prompts are the same, so every cell equals the baseline."];
  }
  const found = baselines === null ? [] : ofBaselines(draft, baselines, afterClean);
  const scored = draft.over === "attribution"; // then few cells are run, or none, and all can differ
  if (estimate !== null && !scored && estimate.cells > 0 && estimate.computed_cells === 0) {
    found.push(`None of ${count(estimate.cells, "cell")} can differ from the baseline: ${whyNone(draft)}.`);
  }
  return found;
}

function ofBaselines(draft: Draft, { clean, corrupt }: Baselines, afterClean: Known["afterClean"]): string[] {
  const withFoil = draft.metric === "logit_diff";
  const unit = withFoil ? METRIC_NAME.logit_diff : METRIC_NAME.logprob;
  const found: string[] = [];
  if (Math.abs(clean - corrupt) < LEAST_GAP) {
    found.push(`The prompts hardly differ in it: the ${unit} is ${number(clean)} after the clean one and ${number(corrupt)} after the corrupt one.`);
  } else if (clean < corrupt) {
    found.push(`The corrupt prompt favours ${tokenWord(draft.answer)} more than the clean one does.`);
  }
  if (withFoil && clean <= 0) {
    found.push(`After the clean prompt ${tokenWord(draft.foil)} is likelier than ${tokenWord(draft.answer)}.`);
  }
  if (!withFoil && clean < LEAST_LOGPROB && afterClean !== null && !afterClean.some(({ token }) => token === draft.answer)) {
    const share = 100 * Math.exp(clean);
    found.push(`${tokenWord(draft.answer)} is no likely answer to the clean prompt: ${share < 0.01 ? "<0.01" : share.toFixed(2)} %.`);
  }
  return found;
}

function whyNone(draft: Draft): string {
  return draft.alpha === 0
    ? "alpha 0 writes nothing"
    : "at these positions both prompts have the same tokens, and so has everything before them";
}

/**
 * What the prompts themselves would be asked about, what either says next: to be offered where the answer, or the
 * foil, is nothing that they are likely to say, as after both prompts have been replaced.
 */
export function offerOf(
  draft: Draft,
  afterClean: readonly NextToken[] | null,
  afterCorrupt: readonly NextToken[] | null,
): { readonly answer: string; readonly foil: string } | null {
  if (afterClean === null || afterCorrupt === null) return null;
  const answer = afterClean[0]?.token;
  const foil = afterCorrupt.find(({ token }) => token !== answer)?.token;
  if (answer === undefined || foil === undefined) return null;
  const says = (list: readonly NextToken[], token: string) => list.some((each) => each.token === token);
  const fits = says(afterClean, draft.answer) && (draft.metric !== "logit_diff" || says(afterCorrupt, draft.foil));
  return fits ? null : { answer, foil };
}
