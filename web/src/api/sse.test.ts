import { expect, test } from "vitest";
import { EventParser, retryDelaySeconds } from "@/api/sse";

test("events are cut out of text that arrives in any pieces", () => {
  const text =
    'id: 1\nevent: run.started\ndata: {"a": 1}\n\n: heartbeat\n\nid: 2\r\nevent: step.started\r\ndata: x\ndata: y\n\n';
  for (const size of [1, 3, 7, text.length]) {
    const parser = new EventParser();
    const events = [];
    for (let at = 0; at < text.length; at += size) {
      events.push(...parser.push(text.slice(at, at + size).replaceAll("\r", "")));
    }
    expect(events).toEqual([
      { id: "1", event: "run.started", data: '{"a": 1}' },
      { id: "2", event: "step.started", data: "x\ny" },
    ]);
  }
});

test("the wait between tries grows, and ends at ten seconds", () => {
  const delays = [0, 1, 2, 3, 20].map((failures) => retryDelaySeconds(failures, () => 1));
  expect(delays).toEqual([0.25, 0.5, 1, 2, 10]);
  expect(retryDelaySeconds(20, () => 0)).toBe(5);
});
