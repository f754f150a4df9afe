import type { TestCounts } from "@/core/test-counts";

type TestStackProps = { counts: TestCounts /** Of the run with the most tests. */; most: number; height: number };

/** The tests of one run on top of each other: failed, skipped, passed. */
export function TestStack({ counts: { total, failed, skipped }, most, height }: TestStackProps) {
  const parts = [
    ["bg-failed", failed],
    ["bg-line-strong", skipped],
    ["bg-passed/70", total - failed - skipped],
  ] as const;
  return parts.map(
    ([look, count]) =>
      count > 0 && <span key={look} className={look} style={{ height: Math.max(3, (height * count) / most) }} />,
  );
}
