import { expect, test } from "vitest";
import { problemOfRepoName } from "@/core/repo-names";

test("a valid name has no problem", () => {
  expect(["shop", "a", "my.shop_2-x", "0"].map(problemOfRepoName)).toEqual([null, null, null, null]);
});

test.each([
  ["", "Enter a name."],
  ["Shop", "Use lowercase letters."],
  ["my shop", "Use '-' instead of a space."],
  ["shop/web", "'/' is not allowed."],
  ["-shop", "Begin with a letter or digit."],
  ["a..b", "'..' is not allowed."],
  ["shop.git", "A name cannot end with '.git'."],
  ["shop.", "A name cannot end with '.'."],
  ["s".repeat(65), "Use at most 64 characters."],
])("what is wrong with %j is said", (name, problem) => {
  expect(problemOfRepoName(name)).toBe(problem);
});
