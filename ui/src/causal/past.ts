/** The list of past sweeps in an address, what is said of one, and where its two prompts differ: pure functions. */

import type { Remarks, SweepEntry, SweepRequest } from "../api/types";
import { queryOf, withQuery } from "../app/location";
import { count } from "../widgets/numbers";

/** Which sweeps are listed, and which of them is open below its line. */
export interface PastView {
  readonly search: string;
  readonly starred: boolean;
  readonly opened: string | null;
}

/** What these are called in an address. */
export const PAST_NAMES = ["find", "starred", "opened"] as const;

export function pastOf(address: string): PastView {
  const query = queryOf(address);
  return { search: query.get("find") ?? "", starred: query.get("starred") === "1", opened: query.get("opened") };
}

export function withPast(address: string, view: PastView): string {
  return withQuery(address, {
    find: view.search === "" ? null : view.search,
    starred: view.starred ? "1" : null,
    opened: view.opened,
  });
}

/** Where a sweep is shown. */
export function sweepAddress({ id, kind }: Pick<SweepEntry, "id" | "kind">): string {
  return `/causal/${encodeURIComponent(id)}${kind === "table" ? "?as=table" : ""}`;
}

/** The address after a sweep is gone: nothing of it is open, shown or compared with. */
export function withoutSweep(address: string, id: string): string {
  const view = pastOf(address);
  const [path = "/"] = address.split("?");
  if (path === `/causal/${encodeURIComponent(id)}`) return withPast("/causal", { ...view, opened: null });
  const compared = queryOf(address).get("with") === id;
  return withPast(compared ? withQuery(address, { with: null, beside: null }) : address, { ...view, opened: null });
}

/** What somebody writes of a sweep before it is kept; null as long as nothing was touched. */
export interface Written {
  readonly name: string | null;
  readonly note: string | null;
}

export const UNTOUCHED: Written = { name: null, note: null };

/** What to tell the server; null where nothing differs from what it knows. Blanks at the ends do not count. */
export function remarksOf({ name = "", note = "" }: Partial<SweepEntry>, written: Written): Remarks | null {
  const said: Remarks = {
    ...(written.name !== null && written.name.trim() !== name ? { name: written.name.trim() } : {}),
    ...(written.note !== null && written.note.trim() !== note ? { note: written.note.trim() } : {}),
  };
  return Object.keys(said).length === 0 ? null : said;
}

/** Two prompts, cut where they begin and cease to differ: between whole words. */
export interface Differing {
  readonly before: string;
  readonly clean: string;
  readonly corrupt: string;
  readonly after: string;
}

export function differing(clean: string, corrupt: string): Differing {
  const [one, other] = [wordsOf(clean), wordsOf(corrupt)];
  const least = Math.min(one.length, other.length);
  let start = 0;
  while (start < least && one[start] === other[start]) start++;
  let end = 0;
  while (end < least - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  const middle = one.slice(start, one.length - end).join("");
  const theirs = other.slice(start, other.length - end).join("");
  const blank = blankBefore(middle);
  const shared = blank === blankBefore(theirs) ? blank.length : 0;
  return {
    before: one.slice(0, start).join("") + middle.slice(0, shared),
    clean: middle.slice(shared),
    corrupt: theirs.slice(shared),
    after: one.slice(one.length - end).join(""),
  };
}

function blankBefore(text: string): string {
  return /^\s*/u.exec(text)?.[0] ?? "";
}

/** The same for a line of a list: of what both have, only what is next to the difference. */
export function shortened({ before, clean, corrupt, after }: Differing, most: number): Differing {
  const letters = Array.from(before);
  const lead = letters.length > most ? `\u2026${letters.slice(1 - most).join("")}` : before;
  return { before: lead, clean: head(clean, 2 * most), corrupt: head(corrupt, 2 * most), after: head(after, most) };
}

function head(text: string, most: number): string {
  const letters = Array.from(text);
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}\u2026` : text;
}

/** Words, each with the blanks before it. */
function wordsOf(text: string): string[] {
  return text.match(/\s*\S+|\s+$/gu) ?? [];
}

export interface Prompts {
  /** Null of a sweep that took no activations from one. */
  readonly clean: string | null;
  readonly corrupt: string;
}

/** The two prompts of a sweep of one pair; null of one over many, or over completions. */
export function promptsOf({ provenance }: Pick<SweepEntry, "provenance">): Prompts | null {
  const { request } = provenance;
  const corrupt = request.prompt ?? request.corrupt;
  const clean = request.clean_prompt ?? request.clean;
  if (typeof corrupt !== "string") return null;
  return { clean: typeof clean === "string" ? clean : null, corrupt };
}

/** What a sweep is called where there is room for a few words. */
export function titleOf(entry: Pick<SweepEntry, "id" | "name" | "provenance">): string {
  if (entry.name) return entry.name;
  const prompts = promptsOf(entry);
  if (prompts) return prompts.corrupt;
  const pairs = pairCount(entry.provenance.request.pairs);
  return pairs === null ? `sweep ${entry.id.slice(0, 8)}` : count(pairs, "pair");
}

/** Of a sweep over many only their number and a digest are kept. */
function pairCount(pairs: unknown): number | null {
  const known = typeof pairs === "object" && pairs !== null && "count" in pairs ? pairs.count : null;
  return typeof known === "number" ? known : null;
}

/** What its cells are, where these are not sites: features of layer 15, through trained. */
export function kindText({ provenance }: Pick<SweepEntry, "provenance">): string {
  const request = provenance.request as Partial<SweepRequest>;
  const { features, senders, method, reward, checkpoints, hooks } = request;
  const ofHeads = (hooks ?? []).length > 0 && (hooks ?? []).every((hook) => ["z", "q", "k", "v", "pattern"].includes(hook));
  const what =
    reward ? "reward" : features ? `features of layer ${features.layer}` : senders ? "edges" : method === "attribution" ? "heads and MLPs" : ofHeads ? "heads" : "";
  const how = method === "attribution" ? ", by attribution" : "";
  const through = checkpoints ? `through ${checkpoints.run}` : "";
  return [what === "" ? "" : `${what}${how}`, through].filter((part) => part !== "").join(", ");
}
