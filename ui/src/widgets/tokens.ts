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

const HALF = "\uFFFD";

/**
 * The pieces of a text with characters that are cut across several of them whole: the first token of such a character
 * shows it, the others that they belong to it. As they are where they do not make up the text.
 */
export function wholeCharacters(pieces: readonly string[], text: string): string[] {
  const shown: string[] = [];
  let at = 0;
  for (let index = 0; index < pieces.length; index++) {
    const piece = pieces[index] ?? "";
    if (!piece.includes(HALF)) {
      if (!text.startsWith(piece, at)) return [...pieces];
      shown.push(piece);
      at += piece.length;
      continue;
    }
    let last = index;
    while ((pieces[last + 1] ?? "").startsWith(HALF)) last += 1;
    const [lead = ""] = piece.split(HALF);
    const [next] = (pieces[last + 1] ?? "").split(HALF);
    const end = last + 1 >= pieces.length ? text.length : text.indexOf(next ?? "", at + lead.length + 1);
    if (end < 0 || !text.startsWith(lead, at)) return [...pieces];
    shown.push(text.slice(at, end), ...Array.from({ length: last - index }, () => "\u2026"));
    at = end;
    index = last;
  }
  return shown;
}

/** The same of a prompt's tokens: special ones before its text are not in it. */
export function wholeTokens(pieces: readonly string[], prompt: string): string[] {
  const begins = pieces.findIndex((piece) => piece !== "" && prompt.startsWith(piece.split(HALF)[0] ?? "") && !prompt.startsWith("<|"));
  if (begins < 0 || !pieces.some((piece) => piece.includes(HALF))) return [...pieces];
  return [...pieces.slice(0, begins), ...wholeCharacters(pieces.slice(begins), prompt)];
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
