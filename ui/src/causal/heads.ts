/** Heads of a table: which cell is whose, what each does, and in which order they stand. */

import type { AttentionTable, HeadShape, Hook, SweepTable } from "../api/types";
import { RingGrid } from "../widgets/heatmap/ring";

export interface HeadName {
  readonly layer: number;
  readonly head: number;
}

/** `9.6` in an address. */
export function headText({ layer, head }: HeadName): string {
  return `${layer}.${head}`;
}

export function headOf(text: string | null): HeadName | null {
  const [, layer, head] = /^(\d{1,4})\.(\d{1,4})$/.exec(text ?? "") ?? [];
  return layer === undefined || head === undefined ? null : { layer: Number(layer), head: Number(head) };
}

/** How many query heads a column of a hook stands for. */
export function sharedBy(shape: HeadShape, hook: Hook): number {
  return hook === "k" || hook === "v" ? shape.heads / shape.kv_heads : 1;
}

/** The key head that a query head reads. */
export function groupOf(shape: HeadShape, head: number): number {
  return Math.floor((head * shape.kv_heads) / shape.heads);
}

export function readersOf(shape: HeadShape, group: number): number[] {
  return Array.from({ length: shape.heads }, (_, head) => head).filter((head) => groupOf(shape, head) === group);
}

/** Whether every panel is layer by head. */
export function isOfHeads(found: SweepTable): boolean {
  const cells = found.tables.filter(({ kind }) => (kind ?? "cells") === "cells");
  return cells.length > 0 && cells.every(({ axes }) => namesOf(axes) === "layer,head");
}

function namesOf(axes: readonly { readonly name: string }[]): string {
  return axes
    .map(({ name }) => name)
    .filter((name) => name !== "pair")
    .join();
}

export interface HeadRow extends HeadName {
  /** By hook: how far from the baseline the head's cell is. Of keys and values, its group's. */
  readonly effects: Readonly<Partial<Record<Hook, number | null>>>;
  readonly scores: Readonly<Partial<Record<ScoreName, number | null>>>;
}

export const SCORES = ["previous", "duplicate", "induction"] as const;
export type ScoreName = (typeof SCORES)[number];

/** One row a query head. */
export function headRows(
  found: SweepTable,
  shape: HeadShape,
  baseline: number | null,
  scored: AttentionTable | null,
): HeadRow[] {
  const tables = found.tables.filter(({ kind, axes }) => (kind ?? "cells") === "cells" && namesOf(axes) === "layer,head");
  const layers = tables[0]?.axes[0]?.values ?? [];
  return layers.flatMap((layer, row) =>
    Array.from({ length: shape.heads }, (_, head): HeadRow => {
      const effects = tables.map(({ hook, axes, values }) => {
        const index = sharedBy(shape, hook) === 1 ? head : groupOf(shape, head);
        const columns = axes[1]?.values ?? [];
        const column = columns.findIndex((value) => Number(value) === index);
        const value = column < 0 ? null : values[found.metric]?.[row * columns.length + column];
        return [hook, value == null ? null : value - (baseline ?? 0)] as const;
      });
      return { layer: Number(layer), head, effects: Object.fromEntries(effects), scores: scoresOf(scored, Number(layer), head) };
    }),
  );
}

function scoresOf(scored: AttentionTable | null, layer: number, head: number): HeadRow["scores"] {
  if (!scored?.scores) return {};
  const at = scored.layers.indexOf(layer) * scored.heads.length + scored.heads.indexOf(head);
  return Object.fromEntries(SCORES.map((name) => [name, scored.scores?.[name]?.[at] ?? null]));
}

/** Strongest first: of effects the farthest from nothing, of scores the greatest; what has no number last. */
export function sorted(rows: readonly HeadRow[], by: string): HeadRow[] {
  const weight = ({ effects, scores }: HeadRow): number => {
    const score = SCORES.find((name) => name === by);
    const value = score === undefined ? effects[by as Hook] : scores[score];
    return value == null ? -1 : Math.abs(value);
  };
  return rows.toSorted((one, other) => weight(other) - weight(one));
}

/** A head's weights, position by position: [positions × keys]. Null where they were not asked for. */
export function weightsOf(table: AttentionTable, { layer, head }: HeadName): Float32Array | null {
  const l = table.layers.indexOf(layer);
  const h = table.heads.indexOf(head);
  if (l < 0 || h < 0 || !table.patterns) return null;
  const size = table.tokens.length ** 2;
  const from = (l * table.heads.length + h) * size;
  return Float32Array.from(table.patterns.slice(from, from + size));
}

/** A matrix as a picture whose first position is on top: the picture draws its last row there. */
export function matrixGrid(weights: Float32Array, n: number): RingGrid {
  return RingGrid.from(n, n, (row, column) => weights[(n - 1 - row) * n + column] ?? 0);
}

export interface Arc {
  readonly position: number;
  readonly key: number;
  readonly weight: number;
}

/** The arcs worth drawing, lightest first: below a tenth they would only darken the picture. */
export function arcsOf(weights: Float32Array, n: number, least = 0.1): Arc[] {
  const arcs: Arc[] = [];
  for (let position = 0; position < n; position++) {
    for (let key = 0; key < position; key++) {
      const weight = weights[position * n + key] ?? 0;
      if (Math.abs(weight) >= least) arcs.push({ position, key, weight });
    }
  }
  return arcs.sort((one, other) => Math.abs(one.weight) - Math.abs(other.weight));
}
