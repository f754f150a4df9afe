import { expect, test } from "vitest";
import { type BufferedLine, LogBuffer } from "@/core/log-buffer";

function logOf(...lines: (string | Partial<BufferedLine>)[]): LogBuffer {
  const log = new LogBuffer();
  log.addLines(
    lines.map((line, at) => ({
      number: at + 1,
      stream: "stdout",
      time: 0,
      text: "",
      ...(typeof line === "string" ? { text: line } : line),
    })),
  );
  return log;
}

test("a page brings only lines that are not there yet", () => {
  const log = logOf("one", "two");
  log.addLines([2, 3].map((number) => ({ number, stream: "stdout", time: 0, text: `line ${number}` })));

  expect(log.lines.map((each) => each.text)).toEqual(["one", "two", "line 3"]);
  expect(log.lastNumber).toBe(3);
});

test("search goes on where it was left, without regard to case and colours", () => {
  const log = logOf("Alpha", "\u001b[31mal\u001b[0mpha", "beta", "ALPHA");

  const first = log.search("alpha", 0, 2);
  expect(first).toEqual({ found: [0, 1], next: 2 });
  expect(log.search("alpha", first.next, 10)).toEqual({ found: [3], next: 4 });
});

test("the last line that looks like an error is found, or the last on stderr", () => {
  expect(logOf().findError()).toBe(-1);
  expect(logOf({ text: "warming up", stream: "stderr" }, "ok").findError()).toBe(0);
  expect(logOf({ text: "warming up", stream: "stderr" }, "ok", "ValueError: 3 tests failed", "bye").findError()).toBe(
    2,
  );
});
