/** Tests of features: the question behind a click, and the sweep that answers it. */

import { api, read } from "./client";
import type { components } from "./schema.generated";
import type { ExportFormat, SweepEntry } from "./types";

type Schemas = components["schemas"];

export type MomentToTest = Schemas["MomentToTest"];
export type TableRequest = Schemas["SweepRequest"];
export type TableStart = Schemas["TableStart"] & { type: "start" };
export type TableCell = Schemas["TableCell"] & { type: "cell" };
export type TableSummary = Schemas["TableSummary"] & { type: "summary" };
export type TableFailed = Schemas["Failed"] & { type: "error" };
export type TableLoading = Schemas["Loading"] & { type: "loading" };
export type TableSampling = Schemas["TableSampling"] & { type: "sampling" };
export type TableReward = Schemas["TableReward"] & { type: "reward" };
export type RewardFound = Schemas["RewardFound"];
export type RewardEffect = Schemas["RewardEffect"];
/** Those that a test of features tells. */
export type TableEvent =
  | TableStart
  | TableCell
  | TableSummary
  | TableFailed
  | TableLoading
  | TableSampling
  | TableReward;

/** What in a run is asked about; what is left out is chosen there. */
export interface Suspect {
  readonly run: string;
  readonly layer: number;
  readonly feature?: number | undefined;
  readonly generation?: string | undefined;
  /** A recorded token of the generation; -1 is the last of the prompt. */
  readonly token?: number | undefined;
}

export function momentToTest({ run, layer, feature, generation, token }: Suspect): Promise<MomentToTest> {
  const query = {
    run,
    layer,
    ...(feature !== undefined && { feature }),
    ...(generation !== undefined && { generation }),
    ...(token !== undefined && { token }),
  };
  return read(api.GET("/api/p5/moment", { params: { query } }));
}

/** What the reward of a run hangs on: one feature removed everywhere, completions graded by the run's verifier. */
export function rewardRequest(run: string, layer: number, feature: number): TableRequest {
  return { features: { layer, numbers: [feature] }, reward: { run } };
}

/** Leave a sweep over a table with the server, which runs it though nobody waits. */
export async function startTable(body: TableRequest): Promise<SweepEntry> {
  const asked = api.POST("/v1/sweeps", { body, params: { header: { prefer: "respond-async" } } });
  return (await read<unknown>(asked)) as SweepEntry; // 202 with that header, as the route says
}

export async function cancelTable(id: string): Promise<void> {
  await read(api.DELETE("/v1/sweeps/{sweep_id}", { params: { path: { sweep_id: id } } }));
}

export function tableEvents(id: string): string {
  return `/v1/sweeps/${encodeURIComponent(id)}/events`;
}

/** A finished one as a file. */
export function exportTable(id: string, format: ExportFormat): Promise<Blob> {
  const params = { path: { sweep_id: id }, query: { format } };
  return read<Blob>(api.GET("/v1/sweeps/{sweep_id}/export", { params, parseAs: "blob" }));
}
