import { expect, it } from "vitest";
import { streamedText } from "./LiveStatus";

it("a stream that began in the middle of a run says where the rest is", () => {
  expect(streamedText(962, 11, 1)).toBe("962 records streamed, earlier ones read from files");
  expect(streamedText(3732, 1, 1)).toBe("3,732 records streamed");
  expect(streamedText(1, 1, null)).toBe("1 record streamed");
  expect(streamedText(0, null, 1)).toBe("0 records streamed");
});
