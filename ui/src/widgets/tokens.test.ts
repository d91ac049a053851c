import { expect, it } from "vitest";
import examples from "./examples.generated.json";
import { fit, quoted, readable, tokenLabel, visible } from "./tokens";

it.each(examples.token_label)("the token %j looks as in Python", (token, label) => {
  expect(tokenLabel(token)).toBe(label);
});
it.each(examples.visible)("the text %j looks as in Python", (text, shown) => expect(visible(text)).toBe(shown));
it("a label that is cut says so", () => expect([fit("abcdef", 4), fit("abc", 4)]).toEqual(["abc…", "abc"]));
it("a token in a sentence is quoted", () => expect(quoted(" Paris")).toBe("“·Paris”"));
it("a text keeps its lines and shows what else is hidden", () =>
  expect(readable("a\nb\u200bc\r\n")).toBe("a\nb\\u200bc\\r\n"));
