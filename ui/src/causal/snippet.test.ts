import { expect, it } from "vitest";
import type { SweepRecord } from "../api/types";
import { python, snippet } from "./snippet";

it("values are written as Python writes them", () => {
  expect([python(null), python(true), python(0.5), python([1, "a"]), python({ a: false })]).toEqual([
    "None",
    "True",
    "0.5",
    '[1, "a"]',
    '{"a": False}',
  ]);
  expect(python([0, 1, 2, 3])).toBe("list(range(0, 4))");
  expect(python('say "é"\n\u2028')).toBe('"say \\"é\\"\\n\\u2028"');
});
it("the sweep is repeated on the server it was run on, with the key from the environment", () => {
  const record = {
    provenance: { model: "smollm2", request: { prompt: "a", layers: [1], hook: "b", hooks: ["b"], stream: false } },
  } as unknown as SweepRecord;
  const text = snippet(record, "http://127.0.0.1:8091", true);
  expect(text).toContain(
    'SyncPatchStudy(model="smollm2", base_url="http://127.0.0.1:8091/v1", api_key=os.environ["SONDE_API_KEY"])',
  );
  expect(text).toContain('    prompt="a",\n    layers=[1],\n    hooks=["b"],\n)');
  expect(text).not.toContain("stream");
  expect(snippet(record, "http://x", false)).not.toContain("import os");
});
