/** Tests of features in the history: which run, layer and features each is about. */

import type { TableRequest } from "../../api/tests";
import type { SweepEntry } from "../../api/types";
import type { AskedFor } from "./testView";

export interface AskedTest extends AskedFor {
  readonly layer: number | null;
  readonly model: string | null;
  /** Whether completions are sampled and graded, instead of one token. */
  readonly ofReward: boolean;
  /** The request as it was sent, to be sent again; null where it is no test of features. */
  readonly request: TableRequest | null;
}

const NOTHING: AskedTest = { top: 0, also: [], brightest: [], layer: null, model: null, ofReward: false, request: null };
const TOP = 8;

/** What a test asked; `notes` are those of its result. */
export function askedOf(entry: SweepEntry | null, notes: Readonly<Record<string, string>> = {}): AskedTest {
  const request = entry === null ? null : requestOf(entry);
  const axis = request?.features;
  if (!request || !axis) return NOTHING;
  return {
    top: axis.numbers || axis.by === "activation" ? 0 : (axis.top ?? TOP),
    also: [...(axis.numbers ?? []), ...(axis.also ?? [])],
    brightest: (notes.brightest ?? "").split(", ").filter((each) => each !== "").map(Number),
    layer: axis.layer,
    model: request.model ?? (request.reward ? `${request.reward.run}@the reward` : null),
    ofReward: Boolean(request.reward),
    request,
  };
}

/** Tests of one run's checkpoints, newest first; of one feature, those that name it or had it in their result. */
export function testsOf(entries: readonly SweepEntry[], run: string): SweepEntry[] {
  return entries.filter((entry) => {
    const request = requestOf(entry);
    return request?.reward?.run === run || request?.model?.startsWith(`${run}@checkpoint-`);
  });
}

function requestOf({ kind, provenance }: SweepEntry): TableRequest | null {
  const request = provenance.request as TableRequest;
  return kind === "table" && request.features ? request : null;
}
