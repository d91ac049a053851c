/**
 * Which clean token each corrupt token takes its activation from, for showing them side by side
 * before anything runs. The rule is the server's (prompts/align.py); the sweep itself goes by what
 * the server says.
 */

import type { Alignment, Pairing } from "../api/types";

export interface AlignedColumn {
  /** Clean positions: one as a rule; of several, the mean is meant. */
  readonly clean: readonly number[];
  readonly corrupt: number | null;
  /** Whether the two tokens are different, or one has no counterpart. */
  readonly differs: boolean;
}

export interface AlignedPrompts {
  readonly columns: readonly AlignedColumn[];
  /** Corrupt positions without a source. */
  readonly unaligned: ReadonlySet<number>;
  /** Whether there is a middle for which `pairing` makes a difference. */
  readonly hasMiddle: boolean;
}

/** Pair the token ids of two prompts. */
export function alignPrompts(clean: readonly number[], corrupt: readonly number[], pairing: Pairing): AlignedPrompts {
  const { prefix, suffix } = shared(clean, corrupt);
  const shift = clean.length - corrupt.length;
  const nClean = clean.length - prefix - suffix;
  const nCorrupt = corrupt.length - prefix - suffix;
  const paired = (position: number): AlignedColumn => {
    const source = position < prefix ? position : position + shift;
    return { clean: [source], corrupt: position, differs: clean[source] !== corrupt[position] };
  };
  const columns = upTo(prefix).map(paired);
  const used = new Set<number>();
  const middle: AlignedColumn[] = upTo(nCorrupt).map((index) => {
    const sources = middleSources(index, nClean, nCorrupt, pairing).map((source) => prefix + source);
    for (const source of sources) used.add(source);
    return { clean: sources, corrupt: prefix + index, differs: true };
  });
  const alone = upTo(nClean)
    .map((index) => prefix + index)
    .filter((position) => !used.has(position))
    .map((position): AlignedColumn => ({ clean: [position], corrupt: null, differs: true }));
  columns.push(...alone, ...middle);
  columns.push(...upTo(suffix).map((index) => paired(corrupt.length - suffix + index)));
  const unaligned = middle.flatMap((column) => (column.clean.length === 0 ? [column.corrupt ?? 0] : []));
  return { columns, unaligned: new Set(unaligned), hasMiddle: nClean !== nCorrupt };
}

/** The clean positions that a finished sweep took a position's activation from. */
export function sourcesIn(alignment: Alignment, position: number): readonly number[] {
  const paired = alignment.paired?.find(([corrupt]) => corrupt === position);
  if (paired) return paired[1];
  if (position < alignment.prefix_len) return [position];
  if (position < alignment.n_corrupt - alignment.suffix_len) return [];
  return [position + alignment.n_clean - alignment.n_corrupt];
}

/** Length of the common prefix and suffix. Of prompts of one length, all is prefix. */
function shared(clean: readonly number[], corrupt: readonly number[]): { prefix: number; suffix: number } {
  if (clean.length === corrupt.length) return { prefix: clean.length, suffix: 0 };
  const shorter = Math.min(clean.length, corrupt.length);
  let prefix = 0;
  while (prefix < shorter && clean[prefix] === corrupt[prefix]) prefix++;
  let suffix = 0;
  while (suffix < shorter - prefix && clean.at(-1 - suffix) === corrupt.at(-1 - suffix)) suffix++;
  return { prefix, suffix };
}

/** Clean tokens for corrupt token `index`, both counted from the start of the middle. */
function middleSources(index: number, nClean: number, nCorrupt: number, pairing: Pairing): number[] {
  switch (pairing) {
    case "strict":
      return [];
    case "first":
      return index < nClean ? [index] : [];
    case "last": {
      const source = index - nCorrupt + nClean;
      return source >= 0 ? [source] : [];
    }
    case "proportional":
      return nClean > 0 ? [Math.floor(((2 * index + 1) * nClean) / (2 * nCorrupt))] : [];
    case "mean":
      return upTo(nClean);
  }
}

function upTo(n: number): number[] {
  return Array.from({ length: n }, (_, index) => index);
}
