/** Prompt pairs to begin with. */

import { PAIRS } from "../widgets/look.generated";
import { EMPTY_DRAFT, type Draft } from "./draft";

/** One of the prompt pairs that show something on the default model. */
export function exampleDraft(name: string): Draft {
  const pair = PAIRS.find((each) => each.name === name);
  if (pair === undefined) return EMPTY_DRAFT;
  const { clean, corrupt, answer, foil } = pair;
  return { ...EMPTY_DRAFT, clean, corrupt, answer, foil, hooks: ["post_block", "post_attn", "mlp_out"] };
}
