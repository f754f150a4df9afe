import { Ban, Check, CircleDashed, CirclePause, CircleSlash, LoaderCircle, X } from "lucide-react";
import { type Tone, toneOf, wordOf } from "@/core/status";
import { classNames } from "@/ui/class-names";

export const TONE_TEXT: Record<Tone, string> = {
  neutral: "text-muted",
  waiting: "text-faint",
  running: "text-running",
  paused: "text-paused",
  passed: "text-passed",
  failed: "text-failed",
  warning: "text-paused",
  muted: "text-faint",
};

export const TONE_SOFT: Record<Tone, string> = {
  neutral: "bg-sunken text-muted",
  waiting: "bg-sunken text-muted",
  running: "bg-running-soft text-running",
  paused: "bg-paused-soft text-paused",
  passed: "bg-passed-soft text-passed",
  failed: "bg-failed-soft text-failed",
  warning: "bg-paused-soft text-paused",
  muted: "bg-sunken text-muted",
};

type StatusIconProps = { status: string; className?: string };

/** A status as a sign of its own shape, so that it is told apart without its colour too. */
export function StatusIcon({ status, className = "size-4" }: StatusIconProps) {
  const look = classNames("shrink-0", className, TONE_TEXT[toneOf(status)]);
  const label = { "aria-hidden": true } as const;
  switch (status) {
    case "running":
    case "pausing":
      return <LoaderCircle {...label} className={classNames(look, "animate-spin")} />;
    case "paused":
      return <CirclePause {...label} className={classNames(look, "text-paused-fill")} />;
    case "passed":
    case "done":
      return <Check {...label} className={look} strokeWidth={2.5} />;
    case "failed":
    case "error":
    case "timed_out":
      return <X {...label} className={look} strokeWidth={2.5} />;
    case "skipped":
      return <CircleSlash {...label} className={look} />;
    case "cancelled":
      return <Ban {...label} className={look} />;
    default:
      return <CircleDashed {...label} className={look} />;
  }
}

export function StatusBadge({ status }: { status: string }) {
  return (
    <span
      className={classNames(
        "inline-flex items-center gap-1.5 rounded-full py-0.5 pr-2.5 pl-1.5 font-medium text-sm",
        TONE_SOFT[toneOf(status)],
      )}
    >
      <StatusIcon status={status} className="size-3.5" />
      {wordOf(status)}
    </span>
  );
}

export function Badge({
  tone = "neutral",
  children,
  title,
}: {
  tone?: Tone;
  children: React.ReactNode;
  title?: string;
}) {
  return (
    <span
      title={title}
      className={classNames("inline-flex items-center gap-1 rounded-sm px-1.5 font-medium text-xs", TONE_SOFT[tone])}
    >
      {children}
    </span>
  );
}
