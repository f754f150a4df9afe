import { expect, test } from "vitest";
import { formatAgo, formatBytes, formatDuration } from "@/core/time";

test.each([
  [0.0004, "0 ms"],
  [0.34, "340 ms"],
  [4.23, "4.2 s"],
  [59.4, "59 s"],
  [185, "3 m 05 s"],
  [7800, "2 h 10 m"],
  [200_000, "2 d 7 h"],
])("%d seconds are %s", (seconds, told) => {
  expect(formatDuration(seconds)).toBe(told);
});

test("how long ago, in words", () => {
  expect(formatAgo(1000, 1010)).toBe("just now");
  expect(formatAgo(1000, 1240)).toBe("4 min ago");
  expect(formatAgo(1000, 1000 + 3 * 3600)).toBe("3 h ago");
  expect(formatAgo(1000, 1000 + 100_000)).toBe("yesterday");
});

test("sizes", () => {
  expect([999, 1500, 5_000_000].map(formatBytes)).toEqual(["999 B", "1.5 kB", "5.0 MB"]);
});
