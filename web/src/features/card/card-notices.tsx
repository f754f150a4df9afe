import { CircleX } from "lucide-react";
import type { CardInfo } from "@/api/types";
import { Notice } from "@/ui/feedback";

/** What should be seen first: why the work failed or why the card came back, and whether its branch is there. */
export function CardNotices({ card: { status, reason, branch, is_branch_gone } }: { card: CardInfo }) {
  return (
    <>
      {status === "failed" && (
        <section aria-label="Failure" className="flex items-start gap-2 border-line border-b bg-failed-soft px-3 py-2">
          <CircleX className="mt-0.5 size-4 shrink-0 text-failed" aria-hidden />
          <p className="min-w-0 flex-1 whitespace-pre-wrap text-failed [overflow-wrap:anywhere]">
            <span className="font-semibold">Failed:</span> {reason ?? "no reason is known."}
          </p>
        </section>
      )}
      {status !== "failed" && status !== "in_progress" && reason && (
        <Notice tone="running">
          <span className="whitespace-pre-wrap [overflow-wrap:anywhere]">{reason}</span>
        </Notice>
      )}
      {is_branch_gone && (
        <Notice tone="paused">
          The branch {branch ?? "of this card"} does not exist any more. Another attempt creates it anew from the base.
        </Notice>
      )}
    </>
  );
}
