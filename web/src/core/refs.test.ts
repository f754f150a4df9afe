import { expect, test } from "vitest";
import { isMerged, refKind, refName, shortSha } from "@/core/refs";

test("branches and tags go by their own names", () => {
  expect(["refs/heads/release/1.0", "refs/tags/v1", "main"].map(refName)).toEqual(["release/1.0", "v1", "main"]);
  expect(["refs/heads/main", "refs/tags/v1"].map(refKind)).toEqual(["branch", "tag"]);
  expect(shortSha("080db42bbeeb6b46a9d9ebcca09855d934d9b664")).toBe("080db42");
});

test("only a merged branch that is neither the default one nor protected may be cleaned up", () => {
  const rules = { default_branch: "main", protected: ["release"] };
  const merged = (name: string, ahead: number | null) => isMerged({ name, ahead }, rules);
  expect(merged("topic", 0)).toBe(true);
  expect(merged("topic", 2)).toBe(false);
  expect(merged("topic", null)).toBe(false);
  expect(merged("main", 0)).toBe(false);
  expect(merged("release", 0)).toBe(false);
});
