import { expect, test } from "vitest";
import { callOf, hostOf, plannedPath, wordsOf } from "@/core/addresses";

test("the address of a call names the step that makes it, and the call", () => {
  expect(["fix/3", "loop[2].fix#2/3/1", "fix", "fix/3+1", ""].map(callOf)).toEqual(["3", "3/1", null, null, null]);
  expect(["fix/3", "loop[2].fix#2/3/1", "fix", "fix/3+1"].map(hostOf)).toEqual([
    "fix",
    "loop[2].fix#2",
    "fix",
    "fix/3+1", // a step that was injected before a call is a step
  ]);
  expect(["fix/3/1", "fix/3+1", "fix+1", "fix"].map(plannedPath)).toEqual(["fix", "fix", "fix", "fix"]);
  expect([wordsOf("fix/3/1"), wordsOf("fix")]).toEqual(["call 3/1 of fix", "fix"]);
});
