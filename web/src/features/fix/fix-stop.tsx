import { Hand } from "lucide-react";
import { useMemo } from "react";
import { stepOf, useRun, useRunValue } from "@/api/run-context";
import { foldFix } from "@/core/fix-view";
import { hasGivenUp } from "@/core/status";
import { reasonWords } from "@/features/fix/fix-words";
import { Button } from "@/ui/button";

/** That a fix loop gave up and waits for a decision, where the loop itself is not shown. */
export function FixStop() {
  const { stop, detail, panels, show } = useRun("stop", "detail", "panels", "show");
  const events = useRunValue(({ view, stop }) => stop && view.fixes.get(stop.occurrence));
  const reason = useMemo(
    () => foldFix(events ?? []).turns.findLast((turn) => turn.kind === "escalated")?.reason,
    [events],
  );
  if (!stop || !hasGivenUp(stop.reasons) || panels.view === "fix") return null;
  return (
    <section
      aria-label="Escalation"
      className="flex flex-wrap items-center gap-x-3 gap-y-1.5 border-line border-b bg-paused-soft px-3 py-1.5"
    >
      <Hand className="size-4 shrink-0 text-paused" aria-hidden />
      <p className="min-w-0 flex-1 text-paused">
        <b>{stepOf(detail, stop.step)?.title ?? stop.step}</b>
        {`: ${reason ? reasonWords(reason) : "the fix loop gave up"}. Choose how to continue.`}
      </p>
      <Button look="primary" onClick={() => show({ view: "fix" })}>
        Show the fix loop
      </Button>
    </section>
  );
}
