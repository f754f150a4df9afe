/** The buttons that fix a test, on the pages that show one. */

import { useCanChange, useRunDetail } from "@/api/queries";
import { useRun } from "@/api/run-context";
import { canBeFixed } from "@/core/fix-draft";
import { FixButton } from "@/features/fix/fix-button";
import { TestsPanel } from "@/features/tests/tests-panel";

/** The tests of the run that is shown, each with a way to fix it. */
export function FixableTests() {
  const { detail, isViewer } = useRun("detail", "isViewer");
  const canFix = canBeFixed(detail) && !isViewer;
  return <TestsPanel drawFix={canFix ? (test) => <FixButton run={detail} test={test} /> : null} />;
}

type FixInRunProps = { run: string; test: { step: string; suite: string; name: string } };

/** Fixes a test in a run that is not shown, if that run has failed. */
export function FixInRun({ run, test }: FixInRunProps) {
  const canChange = useCanChange();
  const detail = useRunDetail(run).data;
  return canChange && detail && canBeFixed(detail) && <FixButton run={detail} test={test} />;
}
