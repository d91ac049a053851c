/** Python that repeats a sweep against the same server. */

import type { SweepRecord } from "../api/types";

export function snippet(record: SweepRecord, origin: string, hasKey: boolean): string {
  const { model, request } = record.provenance;
  const key = hasKey ? ', api_key=os.environ["SONDE_API_KEY"]' : "";
  const silent = new Set(["stream", "logprobs", ...("hooks" in request ? ["hook"] : [])]);
  const fields = Object.entries(request)
    .filter(([name]) => !silent.has(name))
    .map(([name, value]) => `    ${name}=${python(value)},`);
  return [
    ...(hasKey ? ["import os", ""] : []),
    "from sonde.client import SyncPatchStudy",
    "from sonde.schema import PatchSweepRequest",
    "",
    `study = SyncPatchStudy(model=${python(model)}, base_url=${python(`${origin}/v1`)}${key})`,
    "request = PatchSweepRequest(",
    ...fields,
    ")",
    "sweep = study.run(request)",
    "print(sweep)",
    'sweep.save("sweep.html")',
    "",
  ].join("\n");
}

/** A JSON value as Python writes it. */
export function python(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return consecutive(value) ?? `[${value.map(python).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value)
      .map(([name, each]) => `${python(name)}: ${python(each)}`)
      .join(", ")}}`;
  }
  return typeof value === "string" ? text(value) : JSON.stringify(value);
}

/** JSON's escapes are Python's too, but for characters beyond the basic plane, which stay as they are. */
function text(value: string): string {
  return JSON.stringify(value).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Many layers in a row are easier to read as a range. */
function consecutive(values: readonly unknown[]): string | null {
  const first = values[0];
  if (values.length < 4 || typeof first !== "number") return null;
  return values.every((value, index) => value === first + index)
    ? `list(range(${first}, ${first + values.length}))`
    : null;
}
