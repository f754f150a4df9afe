import { CircleDashed, CirclePause, GitPullRequest, LoaderCircle } from "lucide-react";
import { type CardStatus, columnTitle } from "@/core/board-view";
import type { Tone } from "@/core/status";
import { classNames } from "@/ui/class-names";
import { StatusIcon, TONE_SOFT } from "@/ui/status-icon";

const TONES: Record<CardStatus, Tone> = {
  todo: "waiting",
  in_progress: "running",
  in_review: "neutral",
  done: "passed",
  failed: "failed",
};

type CardStatusBadgeProps = { status: CardStatus; isPaused: boolean };

/** Where a card is, and whether the run that works on it is paused. */
export function CardStatusBadge({ status, isPaused }: CardStatusBadgeProps) {
  return (
    <span
      className={classNames(
        "inline-flex shrink-0 items-center gap-1.5 rounded-full py-0.5 pr-2.5 pl-1.5 font-medium text-sm",
        TONE_SOFT[isPaused ? "paused" : TONES[status]],
      )}
    >
      <Icon status={status} isPaused={isPaused} />
      {isPaused ? `${columnTitle(status)}, paused` : columnTitle(status)}
    </span>
  );
}

function Icon({ status, isPaused }: CardStatusBadgeProps) {
  const look = { className: "size-3.5 shrink-0", "aria-hidden": true } as const;
  if (isPaused) return <CirclePause {...look} />;
  switch (status) {
    case "todo":
      return <CircleDashed {...look} />;
    case "in_progress":
      return <LoaderCircle {...look} className="size-3.5 shrink-0 animate-spin" />;
    case "in_review":
      return <GitPullRequest {...look} />;
    case "done":
    case "failed":
      return <StatusIcon status={status} className="size-3.5" />;
  }
}
