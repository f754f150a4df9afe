/** Tests in words: how many there were, and what the last runs say of one. */

export type TestCounts = { total: number; failed: number; skipped: number };

/** "4 tests: 1 failed, 3 passed"; what there is none of is left out. */
export function tellCounts({ total, failed, skipped }: TestCounts): string {
  const passed = total - failed - skipped;
  const parts = [
    failed > 0 && `${failed.toLocaleString()} failed`,
    passed > 0 && `${passed.toLocaleString()} passed`,
    skipped > 0 && `${skipped.toLocaleString()} skipped`,
  ].filter(Boolean);
  const tests = `${total.toLocaleString()} ${total === 1 ? "test" : "tests"}`;
  return parts.length > 0 ? `${tests}: ${parts.join(", ")}` : tests;
}

type TestedRuns = { runs: number; failed_runs: number; turns: number };

/** How a test did in the last runs: "failed in 3 of 20 runs, changed 4 times"; nothing for one that never failed. */
export function tellFailures({ runs, failed_runs, turns }: TestedRuns): string {
  if (failed_runs === 0) return "";
  const failed =
    failed_runs < runs
      ? `failed in ${failed_runs} of ${runs} runs`
      : runs === 1
        ? "failed in its only run"
        : `failed in all ${runs} runs`;
  return turns > 1 ? `${failed}, changed ${turns} times` : failed;
}
