/** Lines and events for tests, as the gateway sends them. */

import type { StreamEvent } from "../../api/events";
import type { Generation, GRPOMetrics, SAELogRecord, SidecarHealth } from "../../api/types";

export function record(step: number, token: number, layer: number, values: Partial<SAELogRecord> = {}): SAELogRecord {
  return {
    step,
    token_index: token,
    layer_index: layer,
    top_feature_indices: [7, 3],
    top_feature_activations: [2, 1],
    reconstruction_loss: 10,
    ...values,
  };
}

export function generation(step: number, number: number, values: Partial<Generation> = {}): Generation {
  return {
    schema: 1,
    run_id: "r",
    step,
    generation_id: `${step}-${number}`,
    group_id: `${step}-0`,
    token_start: 0,
    token_end: 8,
    prompt_tokens: 4,
    completion_tokens: 8,
    truncated: false,
    R: 0.5,
    R_A: 1,
    R_B: 0.5,
    R_C: 0.5,
    R_D: 0.5,
    gate: true,
    advantage: 0,
    prompt: "What is a spoon made of?",
    completion: "made_of(spoon, wood)",
    ...values,
  };
}

export function metrics(iteration: number, mean = 0.5): GRPOMetrics {
  return {
    iteration,
    rewards_mean: mean,
    rewards_std: 0.1,
    rewards_min: 0,
    rewards_max: 1,
    advantage_mean: 0,
    advantage_std: 1,
    r_a_pass_rate: 0.5,
    n_invalid_compositions: 0,
  };
}

export function health(step: number, values: Partial<SidecarHealth> = {}): SidecarHealth {
  return {
    schema: 1,
    run_id: "r",
    step,
    time: 1000,
    layers: [],
    records_written: 0,
    records_dropped: 0,
    generations_dropped: 0,
    fragments: 0,
    sidecar_ms: 1,
    alarms: [],
    ...values,
  };
}

let events = 0;

export function event(data: unknown, name = "message"): StreamEvent {
  events += 1;
  return { id: `id-${events}`, event: name, data: typeof data === "string" ? data : JSON.stringify(data) };
}
