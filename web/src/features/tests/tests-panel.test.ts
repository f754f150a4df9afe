import { expect, test } from "vitest";
import type { TestCase, TestedRun } from "@/api/types";
import { withEarlier } from "@/features/tests/tests-panel";

const failing = (name: string) => ({ step: "unit", suite: "cart", name });
const ran = (run: string, ...names: string[]): TestedRun => ({
  run,
  created_at: 0,
  status: "passed",
  total: 4,
  failed: names.length,
  skipped: 0,
  seconds: 1,
  failing: names.map(failing),
});

test("a test that failed in a run before and not now is shown as passed, once", () => {
  const now: TestCase = { ...failing("taxes"), status: "failed", seconds: 0, message: "1 != 2", change: "new" };
  const all = withEarlier([now], [ran("r3", "taxes"), ran("r2", "rounds"), ran("r1", "rounds", "taxes")]);
  expect(all.map(({ name, status }) => [name, status])).toEqual([
    ["taxes", "failed"],
    ["rounds", "passed"],
  ]);
});
