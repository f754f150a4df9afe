import { expect, test } from "vitest";
import { searchValues } from "@/core/search-values";

const scope = {
  vars: { region: "West", sizes: [12, 28] },
  steps: { build: { outputs: { version: "1.4.2", west: null } } },
};

test("names and plain values are found at any depth, with their paths", () => {
  const { found } = searchValues(scope, "west", 10);
  expect(found.map(({ path, preview }) => [path, preview])).toEqual([
    [".vars.region", '"West"'],
    [".steps.build.outputs.west", "null"],
  ]);
});

test("numbers are found by their digits, containers by their names", () => {
  expect(searchValues(scope, "28", 10).found[0]?.path).toBe(".vars.sizes[1]");
  expect(searchValues(scope, "sizes", 10).found[0]).toMatchObject({ type: "array", size: 2, preview: "[2]" });
});

test("no more than asked for is given, but all is counted", () => {
  const { found, total } = searchValues(
    Array.from({ length: 1000 }, () => "x"),
    "x",
    5,
  );
  expect([found.length, total]).toEqual([5, 1000]);
});
