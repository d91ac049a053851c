import { expect, it } from "vitest";
import { messageOf } from "./errors";

it.each([
  [{ error: "plain" }, "plain"],
  [{ error: { message: "as OpenAI's" } }, "as OpenAI's"],
  [{ detail: "the framework's" }, "the framework's"],
  [null, "The server answered 418."],
  ["text", "The server answered 418."],
])("the sentence in %j is found", (body, message) => expect(messageOf(body, 418)).toBe(message));

it("routes are for programs", () => {
  const said = (error: string) => messageOf({ error }, 404);
  expect(said("no sweep 'a' in the history; GET /v1/patch_sweep lists them")).toBe("no sweep 'a' in the history");
  expect(said("there is no run 'x'; GET /api/runs lists those there are")).toBe("there is no run 'x'");
  expect(said("layer 99 is out of range; choose from 0 to 29")).toBe("layer 99 is out of range; choose from 0 to 29");
});
