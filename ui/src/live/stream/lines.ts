/** Lines of a run directory as they come out of JSON: checked, because anybody may have written them. */

import type { Generation, GRPOMetrics, SAELogRecord, SidecarHealth } from "../../api/types";

/** The values of an event's data, which is one object, or an array of them when several came at once. */
export function valuesOf(data: string): readonly unknown[] | null {
  try {
    const value: unknown = JSON.parse(data);
    return Array.isArray(value) ? (value as unknown[]) : [value];
  } catch {
    return null;
  }
}

export function isRecord(value: unknown): value is SAELogRecord {
  return (
    isObject(value) &&
    isWhole(value.step) &&
    isWhole(value.token_index) &&
    isWhole(value.layer_index) &&
    Array.isArray(value.top_feature_indices) &&
    Array.isArray(value.top_feature_activations) &&
    isNumberOrNull(value.reconstruction_loss)
  );
}

export function isGeneration(value: unknown): value is Generation {
  return (
    isObject(value) &&
    isWhole(value.step) &&
    typeof value.generation_id === "string" &&
    typeof value.prompt === "string" &&
    typeof value.completion === "string"
  );
}

export function isMetrics(value: unknown): value is GRPOMetrics {
  return isObject(value) && isWhole(value.iteration) && isNumberOrNull(value.rewards_mean);
}

export function isHealth(value: unknown): value is SidecarHealth {
  return isObject(value) && isWhole(value.step) && Array.isArray(value.layers);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** A text of an object, or null. */
export function textIn(value: unknown, name: string): string | null {
  const found = isObject(value) ? value[name] : null;
  return typeof found === "string" ? found : null;
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isNumberOrNull(value: unknown): value is number | null {
  return value === null || typeof value === "number";
}
