/** Short names for the server's types. */

import type { components } from "./schema.generated";

type Schemas = components["schemas"];

export type PatchSweepRequest = Schemas["PatchSweepRequest"];
export type SweepSummary = Schemas["SweepSummary"];
export type SweepTable = Schemas["SweepTable"];
export type SweepEntry = Schemas["SweepEntry"];
export type SweepRecord = Schemas["SweepRecord"];
export type SweepHistory = Schemas["SweepHistory"];
export type Remarks = Schemas["Remarks"];
export type SweepState = SweepEntry["state"];
export type Estimate = Schemas["Estimate"];
export type Alignment = Schemas["Alignment"];
export type Control = Schemas["Control"];
export type Capabilities = Schemas["Capabilities"];
export type SourceRun = Schemas["SourceRun"];
export type SourceRunList = Schemas["SourceRunList"];
export type Tokens = Schemas["Tokens"];
export type Completion = Schemas["Completion"];
export type Extreme = Schemas["Extreme"];
export type Hook = Schemas["HookGrid"]["hook"];
export type Metric = SweepSummary["metric"];
export type Pairing = NonNullable<PatchSweepRequest["pairing"]>;
export type ExportFormat = Capabilities["export_formats"][number];

export type SweepStart = Schemas["Start"] & { type: "start" };
export type SweepCell = Schemas["Cell"] & { type: "cell" };
export type SweepEnd = Schemas["Summary"] & { type: "summary" };
export type SweepFailed = Schemas["Failed"] & { type: "error" };
export type SweepEvent = SweepStart | SweepCell | SweepEnd | SweepFailed;

export type SweepRequest = Schemas["SweepRequest"];
export type PromptPair = Schemas["PromptPair"];
export type PairRecord = Schemas["PairRecord"];
export type DroppedPair = Schemas["DroppedPair"];
export type AttentionTable = Schemas["AttentionTable"];
export type ModelDescription = Schemas["ModelDescription"];
export type HeadShape = Schemas["HeadShape"];
export type TaskEntry = Schemas["TaskEntry"];

export type TableStart = Schemas["TableStart"] & { type: "start" };
export type TableCell = Schemas["TableCell"] & { type: "cell" };
export type TablePair = Schemas["TablePair"] & { type: "pair" };
export type TableDropped = Schemas["TableDropped"] & { type: "dropped" };
export type TableVerifying = Schemas["TableVerifying"] & { type: "verifying" };
export type TableEnd = SweepTable & { type: "summary" };
export type TableEvent =
  | TableStart
  | TableCell
  | TablePair
  | TableDropped
  | TableVerifying
  | TableEnd
  | (Schemas["Failed"] & { type: "error" });

export type SAELogRecord = Schemas["SAELogRecord"];
export type Generation = Schemas["Generation"];
export type GRPOMetrics = Schemas["GRPOMetrics"];
export type SidecarHealth = Schemas["SidecarHealth"];
