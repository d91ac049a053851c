import { expect, it } from "vitest";
import examples from "./examples.generated.json";
import { fit, quoted, readable, tokenLabel, visible, wholeCharacters, wholeTokens } from "./tokens";

it.each(examples.token_label)("the token %j looks as in Python", (token, label) => {
  expect(tokenLabel(token)).toBe(label);
});
it.each(examples.visible)("the text %j looks as in Python", (text, shown) => expect(visible(text)).toBe(shown));
it("a label that is cut says so", () => expect([fit("abcdef", 4), fit("abc", 4)]).toEqual(["abc…", "abc"]));
it("a token in a sentence is quoted", () => expect(quoted(" Paris")).toBe("“·Paris”"));
it("a text keeps its lines and shows what else is hidden", () =>
  expect(readable("a\nb\u200bc\r\n")).toBe("a\nb\\u200bc\\r\n"));
it("a character that is cut across tokens is shown whole, once", () => {
  expect(wholeCharacters(["a", "\uFFFD", "\uFFFD", " b"], "a\u2603 b")).toEqual(["a", "\u2603", "\u2026", " b"]);
  expect(wholeCharacters(["a", "\uFFFD"], "a\u2603")).toEqual(["a", "\u2603"]);
  expect(wholeCharacters(["x", "\uFFFD"], "a\u2603")).toEqual(["x", "\uFFFD"]);
  expect(wholeCharacters(["\uFFFD", "\uFFFD", " \uFFFD", "\uFFFD", "x"], "\u2603 \u2604x")).toEqual(["\u2603", "\u2026", " \u2604", "\u2026", "x"]);
});
it("special tokens before a prompt are left as they are, and so is a prompt of whole ones", () => {
  expect(wholeTokens(["<s>", "a", "\uFFFD", "\uFFFD"], "a\u2603")).toEqual(["<s>", "a", "\u2603", "\u2026"]);
  expect(wholeTokens(["<s>", "a"], "a")).toEqual(["<s>", "a"]);
  expect(wholeTokens(["<s>", "\uFFFD"], "b")).toEqual(["<s>", "b"]);
});
