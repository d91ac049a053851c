/**
 * How a token looks when a person reads it, as in src/sonde/results/tokens.py: a space is a middle
 * dot, and what cannot be seen is spelled out. Prompts are other people's text.
 */

const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Zs}\uFE00-\uFE0F]/u;
const COMBINES = /^[\p{Mn}\p{Me}]/u;
const SHORT: Record<string, string> = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };

/** The text with everything that cannot be seen spelled out. */
export function visible(text: string): string {
  const shown = Array.from(text, spelled).join("");
  return COMBINES.test(shown) ? `\u25CC${shown}` : shown;
}

/** A text to read: lines stay lines, and all else that cannot be seen is spelled out. */
export function readable(text: string): string {
  return text.split("\n").map(visible).join("\n");
}

/** A token as a label: `·Paris`, `\n`, `∅` for the empty text of a special token. */
export function tokenLabel(text: string): string {
  return visible(text).replaceAll(" ", "\u00B7") || "\u2205";
}

/** A token inside a sentence. */
export function quoted(text: string): string {
  return `\u201C${tokenLabel(text)}\u201D`;
}

/** At most so many characters of a label, the cut shown by an ellipsis. */
export function fit(text: string, width: number): string {
  const letters = Array.from(text);
  return letters.length <= width ? text : `${letters.slice(0, width - 1).join("")}\u2026`;
}

function spelled(character: string): string {
  if (character === " " || !UNSEEN.test(character)) return character;
  const short = SHORT[character];
  if (short !== undefined) return short;
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, "0")}`;
  return `\\U${code.toString(16).padStart(8, "0")}`;
}
