import { expect, test } from "vitest";
import { tellCounts, tellFailures } from "@/core/test-counts";

test("tests are counted by how they ended, without what there is none of", () => {
  expect(tellCounts({ total: 4, failed: 1, skipped: 0 })).toBe("4 tests: 1 failed, 3 passed");
  expect(tellCounts({ total: 1, failed: 0, skipped: 1 })).toBe("1 test: 1 skipped");
  expect(tellCounts({ total: 0, failed: 0, skipped: 0 })).toBe("0 tests");
});

test("a test says how often it failed, and how often that changed", () => {
  expect(tellFailures({ runs: 20, failed_runs: 0, turns: 0 })).toBe("");
  expect(tellFailures({ runs: 1, failed_runs: 1, turns: 0 })).toBe("failed in its only run");
  expect(tellFailures({ runs: 5, failed_runs: 5, turns: 0 })).toBe("failed in all 5 runs");
  expect(tellFailures({ runs: 20, failed_runs: 3, turns: 4 })).toBe("failed in 3 of 20 runs, changed 4 times");
});
