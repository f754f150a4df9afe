import { expect, test } from "vitest";
import { lastCall, runWords, spentWords } from "@/core/card-live";

test("a running card says in a line what it does and what it has cost", () => {
  expect(lastCall({ tool: "shell", about: "pytest -q\n  tests" })).toBe("shell pytest -q tests");
  expect(lastCall({ tool: null, about: "" })).toBeNull();
  expect(lastCall({})).toBeNull();
  expect(spentWords({})).toBe("");
  expect(spentWords({ calls: 0, cost: null })).toBe("");
  expect(spentWords({ calls: 1, cost: 0.012 })).toBe("1 call · $0.012");
  expect(spentWords({ calls: 1234, cost: 1 })).toBe("1,234 calls · $1.00");
  expect(["pending", "running", "paused", "timed_out"].map(runWords)).toEqual([
    "queued",
    "running",
    "paused",
    "timed out",
  ]);
});
