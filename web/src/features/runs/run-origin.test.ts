import { expect, test } from "vitest";
import { originWords } from "@/features/runs/run-origin";

const commit = { sha: "5f879b8aa", branch: "main", message: "Sell things", has_changes: false };

test("a run says which repository, branch and commit it is of, and what started it", () => {
  expect(originWords({ repo: "shop", ref: "main", commit, started_by: "push by ada" })).toBe(
    "shop main 5f879b8 · push by ada",
  );
  expect(originWords({ repo: null, ref: null, commit, started_by: "ada" })).toBe("main 5f879b8 · ada");
  expect(originWords({ repo: null, ref: null, commit: null, started_by: null })).toBe("");
});
