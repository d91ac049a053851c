/**
 * Where the boxes and edges of a circuit stand, as in src/sonde/results/circuit_picture.py: layers go upwards, heads
 * across, the MLP beside them; an edge enters a head at the left for its query, in the middle for its key, at the
 * right for its value. Nodes at single positions stand in the cell of their layer and position. Pure.
 */

import type { HeadShape } from "../api/types";
import { boxesOf, nodeOf, valueOf, type Part, type Scored } from "./circuit";

const BOX = { width: 44, height: 20 };
const ACROSS = 53;
const UP = 46;
const UP_BARE = 30;
const FOLDED = 9;
const LEFT = 58;
const EDGE = 18;
const THIN = 0.8;
const THICK = 5.5;
/** How far an edge may swing out that rises past boxes of its own column: less than the margin at the right. */
const BOW = 36;
const MARGIN = 26;
const LETTER = 6.4;

export interface Box {
  readonly key: string;
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** Of a circuit of nodes: what it is worth. */
  readonly part: Part | null;
  readonly stroke: number;
}

export interface Line {
  readonly part: Part;
  readonly d: string;
  readonly stroke: number;
}

export interface Text {
  readonly text: string;
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly Box[];
  readonly lines: readonly Line[];
  readonly texts: readonly Text[];
  /** Layers of which nothing is drawn. */
  readonly folded: readonly { readonly y: number; readonly layer: number }[];
}

export interface ModelShape extends Pick<HeadShape, "heads" | "kv_heads"> {
  readonly layers: number;
}

export function layoutOf({ kind, positions }: Scored, parts: readonly Part[], shape: ModelShape): Layout {
  const most = Math.max(...parts.map((part) => Math.abs(valueOf(part))), 0) || 1;
  const thick = (part: Part) => THIN + ((THICK - THIN) * Math.abs(valueOf(part))) / most;
  return positions === null ? byHead(kind, parts, shape, thick) : byPosition(positions, parts, thick);
}

type Thickness = (part: Part) => number;

function byHead(kind: Scored["kind"], parts: readonly Part[], shape: ModelShape, thick: Thickness): Layout {
  const used = usedOf(kind, parts, shape);
  const inside = [...used].filter((name) => name !== "embed" && name !== "logits");
  const layers = new Set(inside.map((name) => nodeOf(name).layer));
  const step = kind === "edges" ? UP : UP_BARE;
  const up = new Map<number, number>([[-1, 0]]);
  let height = 0;
  for (let layer = 0; layer < shape.layers; layer++) up.set(layer, (height += layers.has(layer) ? step : FOLDED));
  up.set(shape.layers, (height += step));
  const total = height + 2 * EDGE + BOX.height;
  const width = LEFT + (shape.heads + 1) * ACROSS + MARGIN;
  const y = (layer: number) => total - EDGE - BOX.height / 2 - (up.get(layer) ?? 0);
  const centre = (node: string) => {
    const { kind: what, layer, head } = nodeOf(node);
    const middle = LEFT + (shape.heads * ACROSS) / 2;
    if (what === "embed") return { x: middle, y: y(-1) };
    if (what === "logits") return { x: middle, y: y(shape.layers) };
    const lift = what === "mlp_out" && kind === "edges" ? BOX.height * 0.6 : 0;
    return { x: LEFT + ((what === "mlp_out" ? shape.heads : head) + 0.5) * ACROSS, y: y(layer) - lift };
  };
  const own = new Map(kind === "nodes" ? parts.map((part) => [part.sender, part]) : []);
  const boxes = [...used].map((node): Box => {
    const at = centre(node);
    const part = own.get(node) ?? null;
    const corner = { x: at.x - BOX.width / 2, y: at.y - BOX.height / 2 };
    return { key: node, text: boxText(node), ...corner, ...BOX, part, stroke: part ? Math.max(1.2, thick(part)) : 1 };
  });
  const lines = kind === "edges" ? parts.map((part): Line => ({ part, d: pathOf(part, centre, shape), stroke: thick(part) })) : [];
  const all = Array.from({ length: shape.layers }, (_, layer) => layer);
  return {
    width,
    height: total,
    boxes,
    lines: lines.toReversed(), // the strongest on top
    texts: all.filter((layer) => layers.has(layer)).map((layer) => ({ text: `layer ${layer}`, x: 2, y: y(layer) + 4 })),
    folded: all.filter((layer) => !layers.has(layer)).map((layer) => ({ layer, y: y(layer) })),
  };
}

function usedOf(kind: Scored["kind"], parts: readonly Part[], { heads, kv_heads: kvHeads }: ModelShape): Set<string> {
  const found = new Set(kind === "edges" ? ["logits"] : ["embed", "logits"]);
  for (const { sender, receiver } of parts) {
    found.add(sender);
    if (kind === "edges") for (const box of boxesOf(receiver, heads, kvHeads)) found.add(box);
  }
  return found;
}

type Centre = (node: string) => { readonly x: number; readonly y: number };

function pathOf({ sender, receiver }: Part, centre: Centre, { heads, kv_heads: kvHeads }: ModelShape): string {
  const from = centre(sender);
  const start = { x: from.x, y: from.y - BOX.height / 2 };
  const into = boxesOf(receiver, heads, kvHeads).map(centre);
  const { kind } = nodeOf(receiver);
  const shift = kind === "q" ? -0.3 : kind === "v" ? 0.3 : 0;
  const end = { x: into.reduce((sum, { x }) => sum + x, 0) / into.length + shift * BOX.width, y: (into[0]?.y ?? 0) + BOX.height / 2 };
  const rise = start.y - end.y;
  const beside = start.x === end.x && rise > UP; // past the boxes between
  const bend = beside ? rise * 0.25 : Math.max(16, rise * 0.45);
  const bow = beside ? BOX.width / 2 + Math.min(rise / 12, BOW) : 0;
  const [a, b] = [`${short(start.x + bow)} ${short(start.y - bend)}`, `${short(end.x + bow)} ${short(end.y + bend)}`];
  return `M${short(start.x)} ${short(start.y)}C${a} ${b} ${short(end.x)} ${short(end.y)}`;
}

const GAP = 5;
const LETTERS = 14;

function byPosition(positions: readonly string[], parts: readonly Part[], thick: Thickness): Layout {
  const shown = positions.filter((at) => parts.some((part) => part.at === at));
  const layers = [...new Set(parts.map(({ sender }) => nodeOf(sender).layer))].toSorted((one, other) => other - one);
  const cell = (layer: number, at: string) =>
    parts.filter((part) => part.at === at && nodeOf(part.sender).layer === layer).toSorted((one, other) => one.sender.localeCompare(other.sender, "en", { numeric: true }) * (one.sender[0] === other.sender[0] ? 1 : -1));
  const lefts = new Map<string, number>();
  let x = LEFT;
  for (const at of shown) {
    lefts.set(at, x);
    const wide = Math.max(...layers.map((layer) => cell(layer, at).length));
    x += Math.max(wide * (BOX.width + GAP), Math.min(at.length, LETTERS) * LETTER) + 2 * GAP;
  }
  const top = 2 * EDGE;
  const boxes = layers.flatMap((layer, row) =>
    shown.flatMap((at) =>
      cell(layer, at).map((part, n): Box => ({
        key: part.name,
        text: boxText(part.sender),
        x: (lefts.get(at) ?? 0) + n * (BOX.width + GAP),
        y: top + row * UP_BARE,
        ...BOX,
        part,
        stroke: thick(part),
      })),
    ),
  );
  const heads = shown.map((at) => ({ text: at.length > LETTERS ? `${at.slice(0, LETTERS - 1)}…` : at, x: lefts.get(at) ?? 0, y: EDGE }));
  const sides = layers.map((layer, row) => ({ text: `layer ${layer}`, x: 2, y: top + row * UP_BARE + 14 }));
  return { width: x, height: top + layers.length * UP_BARE + EDGE, boxes, lines: [], texts: [...heads, ...sides], folded: [] };
}

function boxText(node: string): string {
  const { kind, layer, head } = nodeOf(node);
  return kind === "z" ? `${layer}.${head}` : kind === "mlp_out" ? `mlp ${layer}` : kind;
}

function short(value: number): string {
  return value.toFixed(1).replace(/\.0$/, "");
}
