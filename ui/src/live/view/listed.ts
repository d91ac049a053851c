/** Which generations are listed, and in which order. Pure. */

import type { ListOf } from "./address";

export interface Listed {
  readonly generation_id: string;
  readonly group_id: string;
  readonly step: number;
  readonly R: number | null;
  readonly gate: boolean | null;
  readonly advantage: number | null;
  readonly prompt: string | null;
  readonly completion: string | null;
}

/** From stream and server together, each once, newest first. */
export function newest<T extends Pick<Listed, "generation_id" | "step">>(streamed: readonly T[], told: readonly T[]): T[] {
  const all = new Map([...told, ...streamed].map((row) => [row.generation_id, row]));
  const order = (row: T) => Number(row.generation_id.split("-").at(-1) ?? 0);
  return [...all.values()].sort((one, other) => other.step - one.step || order(other) - order(one));
}

/** `rows` come newest first, and stay so among equals. */
export function listed(rows: readonly Listed[], { gate, by, find, grouped }: ListOf): Listed[] {
  const words = find.trim().toLowerCase();
  const chosen = rows.filter(
    (row) =>
      (gate === "all" || row.gate === (gate === "passed")) &&
      (words === "" || `${row.prompt ?? ""}\n${row.completion ?? ""}`.toLowerCase().includes(words)),
  );
  const value = (row: Listed) => (by === "newest" ? 0 : (row[by] ?? Number.NEGATIVE_INFINITY));
  const sorted = [...chosen].sort((one, other) => (value(one) === value(other) ? 0 : value(other) - value(one)));
  if (!grouped) return sorted;
  const groups = new Map<string, Listed[]>();
  for (const row of sorted) groups.set(row.group_id, [...(groups.get(row.group_id) ?? []), row]);
  return [...groups.values()].flat();
}
