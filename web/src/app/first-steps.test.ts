import { expect, test } from "vitest";
import { brokenExample } from "@/app/first-steps";

const flow = (name: string, problem: string | null = null) => ({ name, file: `${name}.yaml`, problem });

test("the example that fails on purpose is found by its name", () => {
  expect(brokenExample([flow("approve"), flow("broken/flow")])?.name).toBe("broken/flow");
  expect(brokenExample([flow("examples/broken/flow")])?.name).toBe("examples/broken/flow");
});

test("another flow, or one with errors, is not offered as the example", () => {
  expect(brokenExample([flow("unbroken"), flow("broken-things"), flow("broken/flow", "no steps")])).toBeNull();
});
