/** What heads attend to, asked for all at once where that is little, else a layer at a time. */

import { attentionOf, headScores } from "../api/sweeps";
import type { AttentionTable } from "../api/types";
import { useResource, type Resource } from "../api/useResource";
import type { HeadName } from "./heads";
import { useTokens } from "./usePrompts";

const MOST_AT_ONCE = 400_000;
const REPEATED = 24;

export function useAttention(
  prompt: string,
  head: HeadName | null,
  { nLayers, heads }: { readonly nLayers: number; readonly heads: number },
): Resource<AttentionTable> {
  const tokens = useTokens(prompt).data?.length ?? null;
  const whole = tokens !== null && nLayers * heads * tokens ** 2 <= MOST_AT_ONCE;
  const layer = whole ? null : (head?.layer ?? null);
  const key = tokens === null || (!whole && layer === null) ? null : `attention/${layer ?? "all"}/${prompt}`;
  return useResource(key, (signal) => attentionOf({ prompt, ...(layer === null ? {} : { layers: [layer] }) }, signal));
}

export function useHeadScores(wanted: boolean): Resource<AttentionTable> {
  return useResource(wanted ? "head-scores" : null, (signal) => headScores(REPEATED, signal));
}
