/** What the model makes of the prompts of a draft: tokens, likely answers, where it starts from. */

import { logprobsOf, nextTokens, tokenize, type NextToken, type PromptToken } from "../api/prompts";
import { useResource, type Resource } from "../api/useResource";
import { idOf, type Draft } from "./draft";

const SETTLE_MS = 250;
const OFFERED = 6;

export function useTokens(prompt: string): Resource<PromptToken[]> {
  const key = prompt === "" ? null : prompt;
  return useResource(key, (signal) => tokenize(prompt, true, signal), { settle: SETTLE_MS });
}

export function useNextTokens(prompt: string): Resource<NextToken[]> {
  const key = prompt.trim() === "" ? null : prompt;
  return useResource(key, (signal) => nextTokens(prompt, OFFERED, signal), { settle: 2 * SETTLE_MS });
}

export interface Baselines {
  readonly clean: number;
  readonly corrupt: number;
}

/** The metric without a patch, for both prompts: the gap that a sweep explains. */
export function useBaselines(draft: Draft): Resource<Baselines> {
  const { clean, corrupt, answer, metric } = draft;
  const foil = metric === "logit_diff" ? draft.foil : "";
  const ready =
    clean.trim() !== "" && corrupt.trim() !== "" && answer !== "" && (metric !== "logit_diff" || foil !== "");
  const key = ready ? JSON.stringify([clean, corrupt, answer, foil]) : null;
  return useResource(
    key,
    async (signal) => {
      const graded = await Promise.all([answer, ...(foil === "" ? [] : [foil])].map((token) => tokenOf(token, signal)));
      const value = async (prompt: string): Promise<number> => {
        const found = await logprobsOf(
          prompt,
          graded.map((token) => token.id),
          signal,
        );
        const [mine = 0, rival = 0] = graded.map((token) => logprob(found, token));
        return foil === "" ? mine : mine - rival;
      };
      return { clean: await value(clean), corrupt: await value(corrupt) };
    },
    { settle: 2 * SETTLE_MS },
  );
}

/** The one token that a text is; an error that says so when it is several. */
async function tokenOf(token: string, signal: AbortSignal): Promise<PromptToken> {
  const id = idOf(token);
  if (id !== null) return { id, text: token };
  const found = await tokenize(token, false, signal);
  const [only] = found;
  if (only === undefined || found.length !== 1) {
    const pieces = found.map((each) => `“${each.text}”`).join(", ");
    throw new Error(`“${token}” is ${found.length} tokens (${pieces}). Choose one; most words begin with a space.`);
  }
  return { id: only.id, text: token };
}

function logprob(found: readonly NextToken[], token: PromptToken): number {
  const named = found.find((each) => each.token === token.text || each.token === `token_id:${token.id}`);
  return named?.logprob ?? Number.NaN;
}
