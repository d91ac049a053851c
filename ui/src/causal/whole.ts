/**
 * Sweeps with characters that are cut across tokens shown whole, as `wholeTokens` has it. What a server sends are the
 * tokens as they are; the prompt that they make up is in the request.
 */

import type { SweepTable } from "../api/types";
import { wholeTokens } from "../widgets/tokens";
import type { SweepView } from "./sweepView";

type Request = Readonly<Record<string, unknown>>;

function textOf(request: Request, ...names: string[]): string | null {
  const found = names.map((name) => request[name]).find((each) => typeof each === "string");
  return typeof found === "string" ? found : null;
}

/** Tokens of the corrupt prompt, and of the clean one, as they are shown. */
function shown(tokens: SweepTable["tokens"], request: Request): SweepTable["tokens"] {
  const [corrupt, clean] = [textOf(request, "prompt", "corrupt"), textOf(request, "clean_prompt", "clean")];
  return {
    prompt: corrupt === null ? tokens.prompt : wholeTokens(tokens.prompt, corrupt),
    clean: clean === null || tokens.clean == null ? (tokens.clean ?? null) : wholeTokens(tokens.clean, clean),
  };
}

export function wholeView(view: SweepView, request: Request): SweepView {
  const { axes, summary } = view;
  const prompt = textOf(request, "prompt", "corrupt");
  if (axes === null || prompt === null) return view;
  return {
    ...view,
    axes: { ...axes, tokens: wholeTokens(axes.tokens, prompt) },
    summary: summary && { ...summary, tokens: shown(summary.tokens, request) },
  };
}

/** The same of a table: labels of positions are tokens of the corrupt prompt. */
export function wholeTable(found: SweepTable, request: Request): SweepTable {
  const tokens = shown(found.tokens, request);
  const tables = found.tables.map((table) => ({
    ...table,
    axes: table.axes.map((axis) => (axis.name === "position" ? { ...axis, labels: axis.values.map((value, n) => (typeof value === "number" ? tokens.prompt[value] : undefined) ?? axis.labels[n] ?? "") } : axis)),
  }));
  return { ...found, tokens, tables };
}
