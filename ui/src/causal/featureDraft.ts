/** Features in a draft: what they add to an address, to a request, and back from one of the past. */

import type { SweepRequest } from "../api/types";

type Axis = NonNullable<SweepRequest["features"]>;

/** What names them: first-order effect, activation at the last token, or somebody who asks about some. */
export type Which = "strongest" | "active" | "named";
export type How = "patch" | "remove";

export interface FeatureDraft {
  /** Whose dictionary; null while none is chosen. */
  readonly layer: number | null;
  readonly which: Which;
  /** Of `named`: `748, 3844`. */
  readonly numbers: string;
  /** Of the others: how many. */
  readonly top: number | null;
  readonly how: How;
}

export const EMPTY_FEATURES: FeatureDraft = { layer: null, which: "strongest", numbers: "", top: 8, how: "patch" };

export const WHICH: readonly Which[] = ["strongest", "active", "named"];
export const HOW: readonly How[] = ["patch", "remove"];

export const WHICH_MEANING: Record<Which, string> = {
  strongest: "strongest to first order",
  active: "most active at the end",
  named: "by their numbers",
};

export const HOW_MEANING: Record<How, string> = {
  patch: "as in the clean prompt",
  remove: "not active",
};

export function putFeatures(query: URLSearchParams, draft: FeatureDraft): void {
  if (draft.layer !== null) query.set("dictionary", String(draft.layer));
  if (draft.which !== EMPTY_FEATURES.which) query.set("which", draft.which);
  if (draft.numbers !== "") query.set("features", draft.numbers);
  if (draft.top !== EMPTY_FEATURES.top) query.set("top", draft.top === null ? "" : String(draft.top));
  if (draft.how !== EMPTY_FEATURES.how) query.set("how", draft.how);
}

export function featuresOfQuery(query: URLSearchParams): FeatureDraft {
  return {
    layer: wholeIn(query.get("dictionary") ?? ""),
    which: WHICH.find((each) => each === query.get("which")) ?? EMPTY_FEATURES.which,
    numbers: query.get("features") ?? "",
    top: query.has("top") ? wholeIn(query.get("top") ?? "") : EMPTY_FEATURES.top,
    how: HOW.find((each) => each === query.get("how")) ?? EMPTY_FEATURES.how,
  };
}

/** `748, 3844` as numbers, each once, in their order; null where something is no number. */
export function featureNumbers(text: string): number[] | null {
  const words = text.split(/[\s,]+/).filter((word) => word !== "");
  const numbers = words.map(wholeIn);
  return numbers.some((each) => each === null) ? null : [...new Set(numbers.filter((each) => each !== null))];
}

/** What a feature draft lacks before the server can judge it. */
export function featuresLack({ layer, which, numbers, top }: FeatureDraft): string | null {
  if (layer === null) return "Choose the layer whose dictionary is meant.";
  if (which === "named") {
    const named = featureNumbers(numbers);
    return named === null || named.length === 0 ? "Write the numbers of features, such as 748, 3844." : null;
  }
  return top === null || top < 1 ? "Write how many features, 1 or more." : null;
}

/** The axis that a draft asks for. */
export function featuresAsked({ layer, which, numbers, top, how }: FeatureDraft): Partial<SweepRequest> {
  const chosen: Partial<Axis> =
    which === "named"
      ? { numbers: featureNumbers(numbers) ?? [] }
      : { top: top ?? 8, by: which === "active" ? "activation" : "attribution" };
  return { features: { layer: layer ?? 0, how, ...chosen } }; // what is left out has defaults, which the types do not know
}

/** Null for an axis that the form does not hold. */
export function featuresOfRequest({ features }: Partial<SweepRequest>): FeatureDraft | null {
  if (!features || features.how === "clamp" || features.also?.length || features.bright) return null;
  const named = features.numbers ?? null;
  return {
    layer: features.layer,
    which: named !== null ? "named" : features.by === "activation" ? "active" : "strongest",
    numbers: (named ?? []).join(", "),
    top: features.top ?? 8,
    how: features.how ?? "patch",
  };
}

function wholeIn(text: string): number | null {
  return /^\d{1,9}$/.test(text.trim()) ? Number(text) : null;
}
