import { expect, test } from "vitest";
import type { StopInfo } from "@/api/types";
import { steeredFrame } from "@/app/run-page-store";
import { RunView } from "@/core/run-view";

function view(...frames: string[]): RunView {
  const made = new RunView();
  frames.forEach((frame, at) => {
    made.apply({ kind: "frame.opened", number: at + 1, at: 0, frame, name: frame, parent: null, step: null });
  });
  return made;
}

const stop = (id: number, frame: string) => ({ id, frame }) as StopInfo;

test("the first stop is followed while nobody chose a frame", () => {
  expect(steeredFrame({ view: view("main", "a"), stops: [stop(1, "a")] }, { frame: null, after: 0 })).toBe("a");
});

test("a frame that stands still is never taken away", () => {
  const now = { view: view("a", "b"), stops: [stop(1, "a"), stop(2, "b")] };
  expect(steeredFrame(now, { frame: "a", after: 0 })).toBe("a");
  expect(steeredFrame(now, { frame: "b", after: null })).toBe("b");
});

test("a frame that was chosen by hand is kept while it runs", () => {
  expect(steeredFrame({ view: view("a", "b"), stops: [stop(2, "b")] }, { frame: "a", after: null })).toBe("a");
});

test("a frame that was let go gives way to the next stop, not to one that was there before", () => {
  const known = view("main", "a", "b");
  expect(steeredFrame({ view: known, stops: [stop(2, "b")] }, { frame: "main", after: 2 })).toBe("main");
  expect(steeredFrame({ view: known, stops: [stop(2, "b"), stop(3, "a")] }, { frame: "main", after: 2 })).toBe("a");
});
