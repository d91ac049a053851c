/**
 * A table of edges, or of heads and MLPs, as the circuit of its strongest: pure. Ranked and valued as in
 * src/sonde/results/circuit_of.py: by what attribution says, and worth what a run says where there was one.
 */

import type { SweepTable } from "../api/types";
import { visible } from "../widgets/tokens";

type Table = SweepTable["tables"][number];
type Found = Pick<SweepTable, "tables" | "metric" | "corrupt" | "verification">;

/** An edge, or a node: how far it moves the metric from the baseline. */
export interface Part {
  readonly name: string;
  /** Of a node both are the node. */
  readonly sender: string;
  readonly receiver: string;
  readonly score: number;
  /** By running it; null where it was only attributed. */
  readonly exact: number | null;
  /** The position of a node that was scored there alone. */
  readonly at: string | null;
}

export interface Scored {
  readonly kind: "edges" | "nodes";
  /** The strongest by score first. */
  readonly parts: readonly Part[];
  /** Of nodes at single positions, all of these in order. */
  readonly positions: readonly string[] | null;
}

const NODE_AXES: Readonly<Record<string, string>> = { z: "layer,head", mlp_out: "layer" };
const PLACES = ["position", "role"];

export function isOfEdges({ tables }: Pick<SweepTable, "tables">): boolean {
  return tables[0]?.axes.map(({ name }) => name).join() === "sender,receiver";
}

export function isOfNodes({ tables, verification }: Pick<SweepTable, "tables" | "verification">): boolean {
  return verification != null && tables.length > 0 && tables.every((table) => NODE_AXES[table.hook] === ownAxes(table).map(({ name }) => name).join());
}

function ownAxes({ axes }: Table) {
  return axes.filter(({ name }) => !PLACES.includes(name));
}

/** What an edge or node is worth: exactly, where that is known. */
export function valueOf({ exact, score }: Part): number {
  return exact ?? score;
}

/** All that have a number. Single edges only: `total` is all of a sender's, and what + joins is several. */
export function scoredOf(found: Found): Scored {
  const kind = isOfEdges(found) ? "edges" : "nodes";
  const zero = found.metric === "recovered" ? 0 : (found.corrupt[found.metric] ?? 0);
  const exact = exactOf(found);
  const parts = found.tables.flatMap((table, number) =>
    places(table).flatMap((at, index): Part[] => {
      const value = table.values[found.metric]?.[index];
      if (value == null) return [];
      const score = value - zero;
      const known = exact === null ? score : (exact.get(`${number}:${at.join()}`) ?? null);
      return partOf(kind, table, at, score, known);
    }),
  );
  const place = found.tables[0]?.axes.find(({ name }) => PLACES.includes(name));
  const positions = kind === "nodes" && place ? place.values.map((_, n) => placeText(place, n)) : null;
  return { kind, positions, parts: parts.toSorted((one, other) => Math.abs(other.score) - Math.abs(one.score)) };
}

function partOf(kind: Scored["kind"], table: Table, at: readonly number[], score: number, exact: number | null): Part[] {
  const value = (axis: number) => String(table.axes[axis]?.values[at[axis] ?? 0] ?? "");
  if (kind === "edges") {
    const [sender, receiver] = [value(0), value(1)];
    if (receiver === "total" || `${sender}${receiver}`.includes("+")) return [];
    return [{ name: `${sender} → ${receiver}`, sender, receiver, score, exact, at: null }];
  }
  const own = ownAxes(table).map((_, axis) => value(axis));
  const node = `${table.hook}:${own.join(".")}`;
  const place = table.axes[own.length];
  const here = place ? placeText(place, at[own.length] ?? 0) : null;
  return [{ name: here === null ? node : `${node} at ${here}`, sender: node, receiver: node, score, exact, at: here }];
}

function placeText({ name, values, labels }: Table["axes"][number], n: number): string {
  return name === "position" ? `${values[n] ?? ""} ${visible(labels[n] ?? "").trim()}` : String(values[n] ?? "");
}

/** Every index on the axes, the last one fastest. */
function places({ axes }: Table): number[][] {
  return axes.reduce<number[][]>((so, axis) => so.flatMap((before) => axis.values.map((_, n) => [...before, n])), [[]]);
}

/** What was run of the cells that were, by table and place; null where all were. */
function exactOf({ verification }: Found): Map<string, number> | null {
  if (!verification) return null;
  return new Map((verification.compared ?? []).map((cell) => [`${cell.table}:${cell.at.join()}`, cell.exact]));
}

/** Sizes that the threshold goes through, from few to all that are ever drawn. */
const SIZES = [1, 2, 3, 5, 8, 12, 16, 20, 30, 40, 60, 80, 120, 160, 200, 300, 400];
export const USUAL = 40;

export function sizesOf(n: number): number[] {
  const some = SIZES.filter((size) => size < n);
  return n > 0 && n <= (SIZES.at(-1) ?? 0) ? [...some, n] : some;
}

/** The size that an address names: the nearest that there is; 40 without one. */
export function sizeOf(text: string | null, sizes: readonly number[]): number {
  const wanted = text !== null && /^\d{1,6}$/.test(text) ? Number(text) : USUAL;
  return sizes.reduce((so, size) => (Math.abs(size - wanted) < Math.abs(so - wanted) ? size : so), sizes[0] ?? 0);
}

export interface NodeRow {
  readonly node: string;
  readonly edges: number;
  /** The strongest of its edges, or itself. */
  readonly value: number;
}

/** The nodes that some parts touch, as the drawing has them, the strongest first. */
export function nodesIn(parts: readonly Part[], heads: number, kvHeads: number): NodeRow[] {
  const found = new Map<string, NodeRow>();
  for (const part of parts) {
    const touched = new Set([part.sender, ...boxesOf(part.receiver, heads, kvHeads)]);
    for (const node of touched) {
      const before = found.get(node) ?? { node, edges: 0, value: 0 };
      const value = Math.abs(valueOf(part)) > Math.abs(before.value) ? valueOf(part) : before.value;
      found.set(node, { node, edges: before.edges + 1, value });
    }
  }
  return [...found.values()].toSorted((one, other) => Math.abs(other.value) - Math.abs(one.value));
}

/** The boxes that a receiver belongs to: of shared keys and values, all heads that read them. */
export function boxesOf(receiver: string, heads: number, kvHeads: number): string[] {
  const { kind, layer, head } = nodeOf(receiver);
  if (kind === "mlp") return [`mlp_out:${layer}`];
  if (kind === "q") return [`z:${layer}.${head}`];
  if (kind === "k" || kind === "v") {
    const group = heads / kvHeads;
    return Array.from({ length: group }, (_, n) => `z:${layer}.${head * group + n}`);
  }
  return [receiver];
}

/** `z:9.6` as its kind, layer and head; 0 where there is none. */
export function nodeOf(name: string): { readonly kind: string; readonly layer: number; readonly head: number } {
  const [kind = "", rest = ""] = name.split(":");
  const [layer = "", head = ""] = rest.split(".");
  return { kind, layer: Number(layer), head: Number(head) };
}

/** The part of a table that these edges have: their senders by their receivers, in the table's order. */
export function matrixOf(found: SweepTable, parts: readonly Part[]): SweepTable {
  const [table] = found.tables;
  const [senders, receivers] = table?.axes ?? [];
  if (table === undefined || senders === undefined || receivers === undefined) return found;
  const kept = (axis: Table["axes"][number], names: ReadonlySet<string>) =>
    axis.values.flatMap((value, n) => (names.has(String(value)) ? [n] : []));
  const rows = kept(senders, new Set(parts.map(({ sender }) => sender)));
  const columns = kept(receivers, new Set(parts.map(({ receiver }) => receiver)));
  const some = (axis: Table["axes"][number], chosen: readonly number[]) => ({
    name: axis.name,
    values: chosen.map((n) => axis.values[n] ?? n),
    labels: chosen.map((n) => axis.labels[n] ?? ""),
  });
  const all = table.values[found.metric] ?? [];
  const values = rows.flatMap((row) => columns.map((column) => all[row * receivers.values.length + column] ?? null));
  const small = { ...table, axes: [some(senders, rows), some(receivers, columns)], values: { [found.metric]: values } };
  return { ...found, tables: [small] };
}
