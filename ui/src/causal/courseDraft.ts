/** Checkpoints in a draft: the same sweep through a run, instead of on the model that is loaded. */

import type { SweepRequest } from "../api/types";

export interface CourseDraft {
  /** Whose checkpoints; empty for the loaded model alone. */
  readonly run: string;
  /** `all`, or `10, 20, 50`. */
  readonly steps: string;
}

export const EMPTY_COURSE: CourseDraft = { run: "", steps: "all" };

export function putCourse(query: URLSearchParams, { run, steps }: CourseDraft): void {
  if (run === "") return;
  query.set("through", run);
  if (steps !== "all") query.set("checkpoints", steps);
}

export function courseOfQuery(query: URLSearchParams): CourseDraft {
  const run = query.get("through") ?? "";
  return run === "" ? EMPTY_COURSE : { run, steps: query.get("checkpoints") ?? "all" };
}

/** `10, 20` as steps in order, each once; null where something is no step. */
export function stepsOf(text: string): "all" | number[] | null {
  if (text.trim() === "all") return "all";
  const words = text.split(/[\s,]+/).filter((word) => word !== "");
  if (words.length === 0 || !words.every((word) => /^\d{1,9}$/.test(word))) return null;
  return [...new Set(words.map(Number))].sort((one, other) => one - other);
}

export function courseLacks({ run, steps }: CourseDraft): string | null {
  return run !== "" && stepsOf(steps) === null ? "Steps are “all”, or numbers such as 10, 20, 50." : null;
}

export function courseAsked({ run, steps }: CourseDraft): Partial<SweepRequest> {
  return run === "" ? {} : { checkpoints: { run, steps: stepsOf(steps) ?? "all" } };
}

/** Null for checkpoints that the form has no words for: those that write what another one has. */
export function courseOfRequest({ checkpoints }: Partial<SweepRequest>): CourseDraft | null {
  if (!checkpoints) return EMPTY_COURSE;
  if (checkpoints.sources_from != null) return null;
  const { run, steps = "all" } = checkpoints;
  return { run, steps: steps === "all" ? "all" : steps.join(", ") };
}
