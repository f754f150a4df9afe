import { expect, test } from "vitest";
import { readRange, type ShownRange, withRange } from "@/features/card/diff-range";

const ranges: ShownRange[] = [
  { kind: "all" },
  { kind: "attempt", attempt: 2 },
  { kind: "between", from: 1, to: 2 },
  { kind: "between", from: 0, to: 3 },
];

test.each(ranges)("a range is in the address, and nothing else there is lost: %o", (range) => {
  const params = withRange(new URLSearchParams("tab=log&attempt=9&from=7"), range);
  expect(params.get("tab")).toBe("log");
  expect(readRange(params)).toEqual(range);
});

test("an address that says nothing useful shows all changes", () => {
  for (const text of ["", "attempt=x", "attempt=-1", "from=1", "to=2", "attempt=0"])
    expect(readRange(new URLSearchParams(text))).toEqual({ kind: "all" });
});
