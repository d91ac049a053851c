/**
 * A table through the checkpoints of a run, as pictures: step by layer, head or feature, as in
 * src/sonde/results/course.py. Every checkpoint has a zero of its own, so what is shown are changes from it.
 */

import type { SweepTable } from "../api/types";
import type { Found } from "./compare";
import type { Cell } from "./TablePanels";

type Table = SweepTable["tables"][number];
type Axis = Table["axes"][number];

/** Heads or features along a picture; of more, those that ever do most. */
const MOST = 40;
const EVERYWHERE = "everywhere";

export function isCourse({ tables }: Pick<SweepTable, "tables">): boolean {
  return tables.some(({ axes }) => axes[0]?.name === "checkpoint");
}

/** After which steps the checkpoints were saved. */
export function stepsOf({ checkpoints }: Pick<SweepTable, "checkpoints">): number[] {
  return (checkpoints ?? []).map(({ step }) => step);
}

/** Every step by what it is read against: null where that has no number. */
function zeros({ checkpoints, metric }: SweepTable): (number | null)[] {
  return (checkpoints ?? []).map(({ corrupt }) => (metric === "recovered" ? 0 : (corrupt[metric] ?? null)));
}

/** Checkpoints by everything else, as changes: of positions the one farthest from nothing, with its sign. */
export function drawn(found: SweepTable): Found {
  const cells = found.tables.filter(({ kind }) => (kind ?? "cells") === "cells");
  return {
    ...found,
    tables: cells.map((table) => reduced(found, table)),
    corrupt: { [found.metric]: 0 },
    clean: null,
    noise_floor: { [found.metric]: 0 }, // each step has its own: `isWithinNoise`
  };
}

/** How many columns a picture lacks, because others do more. */
export function leftOut(found: SweepTable, picture: Found): number {
  const all = found.tables.filter(({ kind }) => (kind ?? "cells") === "cells");
  const width = ({ axes }: Table) =>
    axes.slice(1).reduce((n, { name, values }) => (name === "position" || name === "role" ? n : n * values.length), 1);
  return all.reduce((n, table, at) => n + width(table) - (picture.tables[at]?.axes[1]?.values.length ?? 0), 0);
}

function reduced(found: SweepTable, table: Table): Table {
  const [steps, ...others] = table.axes;
  const kept = others.filter(({ name }) => name !== "position" && name !== "role");
  const along = others.find(({ name }) => name === "position" || name === "role");
  const places = along?.values.length ?? 1;
  const changes = changesOf(found, table);
  const width = changes.length / Math.max(steps?.values.length ?? 1, 1) / places;
  const everywhere = along?.values.at(-1) === EVERYWHERE;
  const strongest = Array.from({ length: changes.length / places }, (_, cell) => {
    const here = changes.slice(cell * places, (cell + 1) * places);
    return everywhere ? (here.at(-1) ?? null) : farthest(here);
  });
  const column = joined(kept);
  const chosen = most(strongest, width);
  const values = Array.from({ length: strongest.length / width }, (_, step) => chosen.map((n) => strongest[step * width + n] ?? null));
  return {
    hook: table.hook,
    kind: "cells",
    axes: [
      steps ?? { name: "checkpoint", values: [], labels: [] },
      { name: column.name, values: chosen.map((n) => column.values[n] ?? n), labels: chosen.map((n) => column.labels[n] ?? "") },
    ],
    values: { [found.metric]: values.flat() },
  };
}

/** Every value of the main metric less its own checkpoint's zero. */
function changesOf(found: SweepTable, table: Table): (number | null)[] {
  const zero = zeros(found);
  const values = table.values[found.metric] ?? [];
  const size = values.length / Math.max(zero.length, 1);
  return values.map((value, n) => {
    const own = zero[Math.floor(n / size)] ?? null;
    return value === null || own === null ? null : value - own;
  });
}

function farthest(values: readonly (number | null)[]): number | null {
  return values.reduce<number | null>((so, each) => (each !== null && (so === null || Math.abs(each) > Math.abs(so)) ? each : so), null);
}

/** Columns in their order: all, or of many those that ever do most. */
function most(values: readonly (number | null)[], width: number): number[] {
  const all = Array.from({ length: width }, (_, n) => n);
  if (width <= MOST) return all;
  const size = all.map((n) => Math.max(0, ...values.filter((_, cell) => cell % width === n).map((value) => Math.abs(value ?? 0))));
  const first = all.toSorted((one, other) => (size[other] ?? 0) - (size[one] ?? 0)).slice(0, MOST);
  return first.toSorted((one, other) => one - other);
}

/** Several axes as one: layer and head as `9.6`. */
function joined(axes: readonly Axis[]): Axis {
  const [first, ...others] = axes;
  if (first === undefined) return { name: "position", values: ["together"], labels: ["together"] };
  return others.reduce<Axis>(
    (so, axis) => ({
      name: axis.name,
      values: so.values.flatMap((before) => axis.values.map((value) => `${before}.${value}`)),
      labels: so.labels.flatMap((before) => axis.labels.map((label) => `${before}.${label}`)),
    }),
    first,
  );
}

/** Whether a place of a drawn picture is within its own step's noise floor. */
export function isWithinNoise(found: SweepTable, picture: Found): (cell: Cell) => boolean {
  const floors = (found.checkpoints ?? []).map(({ noise_floor: floor }) => floor[found.metric] ?? 0);
  return ({ panel, row, column }) => {
    const floor = floors[row] ?? 0;
    const width = picture.tables[panel]?.axes[1]?.values.length ?? 0;
    const value = picture.tables[panel]?.values[found.metric]?.[row * width + column];
    return floor > 0 && value != null && Math.abs(value) <= floor;
  };
}

/** One checkpoint's cells as changes from its own unpatched prompt: what can be set beside another checkpoint's. */
export function changesAt(found: SweepTable, step: number): Found | null {
  const index = stepsOf(found).indexOf(step);
  const record = found.checkpoints?.[index];
  if (record === undefined) return null;
  const n = found.checkpoints?.length ?? 1;
  const tables = found.tables
    .filter(({ kind }) => (kind ?? "cells") === "cells")
    .map((table) => {
      const all = changesOf(found, table);
      const size = all.length / n;
      return { ...table, axes: table.axes.slice(1), values: { [found.metric]: all.slice(index * size, (index + 1) * size) } };
    });
  return { ...found, tables, corrupt: { [found.metric]: 0 }, clean: null, noise_floor: record.noise_floor };
}

/** The two steps that an address names; without them the last beside the first. */
export function bothSteps(query: URLSearchParams, steps: readonly number[]): { readonly step: number; readonly against: number } | null {
  const named = (name: string) => steps.find((each) => String(each) === query.get(name));
  const [first, last] = [steps[0], steps.at(-1)];
  if (first === undefined || last === undefined || first === last) return null;
  const step = named("step") ?? last;
  return { step, against: named("against") ?? (step === first ? last : first) };
}
