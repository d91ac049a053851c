/** The sentences about a sweep, as the terminal and the pages say them (results/wording.py). */

import type { Control, Estimate, Metric, SweepEntry, SweepSummary, SweepTable } from "../api/types";
import { count, duration, grouped, number, ranges, rate, size } from "../widgets/numbers";
import { quoted, visible } from "../widgets/tokens";
import { sourcesIn } from "./alignment";
import { idOf } from "./draft";

export const METRIC_NAME: Record<Metric, string> = {
  logprob: "log-probability",
  logit_diff: "logit difference",
  recovered: "share recovered",
};

export const METRIC_MEANING: Record<Metric, string> = {
  logprob: "of the answer",
  logit_diff: "answer over foil",
  recovered: "0 is corrupt, 1 is clean",
};

/** What the colours stand for: log-probability of “·Paris”. */
export function metricLabel(metric: Metric, answer: string, foil: string): string {
  if (metric === "logit_diff") return `${METRIC_NAME.logit_diff}, ${tokenWord(answer)} over ${tokenWord(foil)}`;
  return `${METRIC_NAME[metric]} of ${tokenWord(answer)}`;
}

export function tokenWord(token: string): string {
  const id = idOf(token);
  return id === null ? quoted(token) : `token ${id}`;
}

/** Answer and foil as a request names them. */
export function askedTokens(entry: SweepEntry): { answer: string; foil: string } {
  const { request } = entry.provenance;
  const asked = (role: string): string => {
    const given = request[role];
    const text = request[`${role}_token`] ?? (Array.isArray(given) ? given.join(" or ") : given);
    const id = request[`${role}_token_id`] ?? given;
    return typeof text === "string" ? text : typeof id === "number" ? `token_id:${id}` : "";
  };
  return { answer: asked("answer"), foil: asked("foil") };
}

/** Whether the cells that must change nothing changed nothing. */
export function controlsText(controls: readonly Control[]): string {
  const total = controls.length;
  if (total === 0) return "none were run";
  const failed = controls.filter((control) => !control.passed);
  const [worst] = failed.toSorted((one, other) => other.difference - one.difference);
  if (worst) {
    return (
      `${failed.length} of ${total} FAILED: ${worst.kind} at ${worst.hook}, layer ${worst.layer}, position ` +
      `${worst.position} differs by ${number(worst.difference)} where ${number(worst.tolerance)} is allowed`
    );
  }
  const largest = Math.max(...controls.map((control) => control.difference));
  if (largest === 0) return `${total} of ${total} equal the baseline, bit for bit`;
  const allowed = Math.min(...controls.map((control) => control.tolerance));
  return `${total} of ${total} equal the baseline within ${number(allowed)} (largest difference ${number(largest)})`;
}

/** How far to trust small differences. */
export function noiseText(floor: number | null): string {
  if (floor === null) return "not measured";
  return floor === 0 ? "0: the baseline has the same bits among patched rows" : number(floor);
}

/** 270 cells in 0.71 s, 380 cells/s; 120 of them could not differ from the baseline. */
export function timingText({ timing }: Pick<SweepSummary, "timing">): string {
  const text = `${count(timing.cells, "cell")} in ${duration(timing.total_seconds)}, ${rate(timing.cells_per_second, "cells")}`;
  const known = timing.cells - timing.computed_cells;
  return known > 0 ? `${text}; ${grouped(known)} of them could not differ from the baseline` : text;
}

/** The same of a table; where cells were scored, few of them were run. */
export function tableTimeText({ timing, verification, checkpoints }: Pick<SweepTable, "timing" | "verification" | "checkpoints">): string {
  if (!verification && !checkpoints) return timingText({ timing });
  const run = verification ? `${count(timing.cells, "cell")} scored, ${grouped(verification.verified)} of them run` : count(timing.cells, "cell");
  return `${run}, in ${duration(timing.total_seconds)}${checkpoints ? ", loading not counted" : ""}`;
}

/**
 * 810 cells, 120 of which cannot differ from the baseline; about 2.10 s and 14.0 MiB of memory. Where cells are scored,
 * the time is that of those which are run to verify it: what a gradient takes is not known beforehand.
 */
export function costText({ cells, computed_cells: computed, seconds, working_bytes, source_bytes }: Estimate, scored = false): string {
  const memory = `${size(working_bytes + source_bytes)} of memory`;
  if (scored) {
    return `${count(cells, "cell")} to score and ${grouped(computed)} to run; about ${duration(seconds)} for those that are run, scoring and circuits come on top; ${memory}`;
  }
  const known = cells - computed;
  const saved = known > 0 ? `, ${grouped(known)} of which cannot differ from the baseline` : "";
  return `${count(cells, "cell")}${saved}; about ${duration(seconds)} and ${memory}`;
}

/** One line a reason: what was left out, and why. */
export function skippedLines({ skipped }: SweepSummary): string[] {
  const byReason = new Map<string, number[]>();
  for (const each of skipped) byReason.set(each.reason, [...(byReason.get(each.reason) ?? []), each.position]);
  return [...byReason].map(([reason, positions]) => {
    const noun = new Set(positions).size === 1 ? "position" : "positions";
    return `${noun} ${ranges(positions)}: ${visible(reason)}`;
  });
}

/** Where the largest and the smallest value are; null when no patch made a difference. */
export function strongest(summary: SweepSummary): { largest: string; smallest: string } | null {
  const grids = summary.hook_grids ?? [summary];
  const sites = (name: "argmax" | "argmin") =>
    grids.flatMap((grid) => {
      const site = grid[name];
      return site ? [{ ...site, hook: grid.hook }] : [];
    });
  const [largest] = sites("argmax").toSorted((one, other) => other.value - one.value);
  const [smallest] = sites("argmin").toSorted((one, other) => one.value - other.value);
  if (!largest || !smallest || largest.value === smallest.value) return null;
  const text = ({ hook, layer, position, value }: typeof largest) =>
    `${number(value)} at ${hook}, layer ${layer}, position ${position} ${quoted(summary.tokens.prompt[position] ?? "")}`;
  return { largest: text(largest), smallest: text(smallest) };
}

/** from “·Tower”; from the mean of “·E” “iffel”; nothing before it is known. */
export function sourceText(summary: SweepSummary, position: number): string {
  const { alignment, tokens } = summary;
  if (alignment === null || tokens.clean == null) return "";
  const texts = sourcesIn(alignment, position).map((source) => quoted(tokens.clean?.[source] ?? ""));
  if (texts.length === 0) return "";
  return texts.length === 1 ? `from ${texts[0] ?? ""}` : `from the mean of ${texts.join(" ")}`;
}

/** What the two colours say. */
export const COLOR_MEANING: Record<Metric, string> = {
  logprob: "Orange: the patch brings the answer closer. Blue: it pushes it away.",
  logit_diff: "Orange: the patch moves the model to the answer. Blue: to the foil.",
  recovered: "Orange: the patch wins back the clean answer. Blue: it loses more of it.",
};
