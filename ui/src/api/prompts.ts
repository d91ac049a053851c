/** What the model makes of a text: its tokens, and what it would say next. */

import { wholeTokens } from "../widgets/tokens";
import { api, read } from "./client";
import type { components } from "./schema.generated";
import type { Completion } from "./types";

type CompletionBody = components["schemas"]["CompletionRequest"];

export interface PromptToken {
  readonly id: number;
  readonly text: string;
}

export async function tokenize(prompt: string, special: boolean, signal: AbortSignal): Promise<PromptToken[]> {
  const body = { prompt, add_special_tokens: special, return_token_strs: true, add_generation_prompt: true };
  const found = await read(api.POST("/tokenize", { body, signal }));
  const texts = wholeTokens(found.tokens.map((_, index) => found.token_strs?.[index] ?? ""), prompt);
  return found.tokens.map((id, index) => ({ id, text: texts[index] ?? "" }));
}

export interface NextToken {
  /** The token's text, or `token_id:<id>` where it has none of its own. */
  readonly token: string;
  readonly logprob: number;
}

/** The likeliest next tokens, likeliest first. */
export function nextTokens(prompt: string, k: number, signal: AbortSignal): Promise<NextToken[]> {
  const body = { prompt, max_tokens: 1, temperature: 0, logprobs: k };
  return complete(body, signal);
}

/** Log-probabilities of given tokens as the next one. */
export function logprobsOf(prompt: string, ids: number[], signal: AbortSignal): Promise<NextToken[]> {
  const body = { prompt, max_tokens: 1, temperature: 0, logprobs: ids.length, logprob_token_ids: ids };
  return complete(body, signal);
}

async function complete(body: CompletionBody, signal: AbortSignal): Promise<NextToken[]> {
  const found = (await read(api.POST("/v1/completions", { body, signal }))) as Completion; // no stream was asked for
  return Object.entries(found.choices[0]?.logprobs?.top_logprobs[0] ?? {})
    .map(([token, logprob]) => ({ token, logprob }))
    .sort((one, other) => other.logprob - one.logprob);
}
