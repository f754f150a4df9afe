/** Which tests failed after which iteration: a row per test, a column per iteration. */

import type { FailingTest, FixTested, FixView } from "@/core/fix-view";

/** `new`: it did not fail in the column before. `other`: it did, with another error. */
export type TestCell = "failing" | "other" | "new" | "passing";

export type TestRow = {
  test: string;
  error: string;
  message: string;
  mark: "flaky" | "pre_existing" | null;
  cells: TestCell[];
};

/** What fails now comes first, then what was repaired last; `more` counts what failed and is in no row. */
export type TestMatrix = { columns: FixTested[]; rows: TestRow[]; more: number };

const MOST_ROWS = 50;

export function testMatrix({ tested, triage }: FixView): TestMatrix {
  const columns = tested.toSorted((one, other) => one.n - other.n);
  const known = new Map(columns.flatMap(({ details }) => details).map((each) => [each.fingerprint, each]));
  const failures = new Set([...columns.flatMap((each) => each.failures), ...known.keys()]);
  const byTest = new Map<string, FailingTest[]>();
  for (const each of known.values()) byTest.set(nameOf(each), [...(byTest.get(nameOf(each)) ?? []), each]);
  const failed = columns.map(
    (each) => new Set([...each.failures, ...each.details.map(({ fingerprint }) => fingerprint)]),
  );
  const all = [...byTest].map(([test, errors]): TestRow => {
    const prints = errors.map(({ fingerprint }) => fingerprint);
    const isIn = (list: readonly string[]) => prints.every((each) => list.includes(each));
    return {
      test,
      error: errors.at(-1)?.error ?? "",
      message: errors.at(-1)?.message ?? "",
      mark: triage && isIn(triage.flaky) ? "flaky" : triage && isIn(triage.pre_existing) ? "pre_existing" : null,
      cells: failed.map((now, at) => cellOf(prints, now, failed[at - 1])),
    };
  });
  const lastFailure = ({ cells }: TestRow) => cells.findLastIndex((each) => each !== "passing");
  const rows = all.sort((one, other) => lastFailure(other) - lastFailure(one)).slice(0, MOST_ROWS);
  const inRows = new Set(rows.flatMap(({ test }) => (byTest.get(test) ?? []).map(({ fingerprint }) => fingerprint)));
  const most = Math.max(0, ...columns.map((each) => each.total - each.failures.length)); // that have no fingerprint
  return { columns, rows, more: failures.size - inRows.size + most };
}

function nameOf({ test, error, message, fingerprint }: FailingTest): string {
  return test || error || message || fingerprint;
}

function cellOf(
  prints: readonly string[],
  now: ReadonlySet<string>,
  before: ReadonlySet<string> | undefined,
): TestCell {
  const failing = prints.filter((each) => now.has(each));
  if (failing.length === 0) return "passing";
  if (!before || failing.some((each) => before.has(each))) return "failing";
  return prints.some((each) => before.has(each)) ? "other" : "new";
}
