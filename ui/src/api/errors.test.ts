import { expect, it } from "vitest";
import { messageOf } from "./errors";

it.each([
  [{ error: "plain" }, "plain"],
  [{ error: { message: "as OpenAI's" } }, "as OpenAI's"],
  [{ detail: "the framework's" }, "the framework's"],
  [null, "The server answered 418."],
  ["text", "The server answered 418."],
])("the sentence in %j is found", (body, message) => expect(messageOf(body, 418)).toBe(message));
