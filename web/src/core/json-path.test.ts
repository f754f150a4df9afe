import { expect, test } from "vitest";
import { childPath, formatPath, parsePath, readPath, splitForCompletion } from "@/core/json-path";

test.each([
  [[], "."],
  [["steps", "build", "outputs"], ".steps.build.outputs"],
  [["sizes", 0], ".sizes[0]"],
  [["odd key", 'with "quotes"'], '.["odd key"]["with \\"quotes\\""]'],
  [[0, "a"], ".[0].a"],
] as const)("%j is written as %s and read again", (parts, text) => {
  expect(formatPath(parts)).toBe(text);
  expect(parsePath(text)).toEqual([...parts]);
});

test("what is more than a path is not taken for one", () => {
  for (const text of ["", "a", ".a | length", ".a[]", ".a + 1", "..", ".a."]) expect(parsePath(text)).toBeNull();
});

test("a child is named below its parent", () => {
  expect(childPath(".", "vars")).toBe(".vars");
  expect(childPath(".vars", 2)).toBe(".vars[2]");
});

test("what is at a path is read, and nothing is undefined", () => {
  expect(readPath({ a: [{ b: 1 }] }, ["a", 0, "b"])).toBe(1);
  expect(readPath({ a: 1 }, ["a", "b"])).toBeUndefined();
});

test("completion knows what is being written", () => {
  expect(splitForCompletion(".vars.re")).toEqual({ from: 5, parent: ".vars", word: "re" });
  expect(splitForCompletion("[.va")).toEqual({ from: 1, parent: ".", word: "va" });
  expect(splitForCompletion(".a | .b.")).toEqual({ from: 7, parent: ".b", word: "" });
  expect(splitForCompletion("length")).toBeNull();
});
