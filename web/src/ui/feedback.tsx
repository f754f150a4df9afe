import { CircleAlert, LoaderCircle } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "@/ui/button";
import { classNames } from "@/ui/class-names";

type EmptyProps = { icon?: ReactNode; title: string; children?: ReactNode; action?: ReactNode };

/** What is shown where there is nothing: why, and what to do about it. */
export function Empty({ icon, title, children, action }: EmptyProps) {
  return (
    <div className="flex h-full min-h-32 flex-col items-center justify-center gap-1 p-6 text-center">
      {icon && <div className="mb-1 text-faint">{icon}</div>}
      <p className="font-medium">{title}</p>
      {children && <div className="max-w-sm text-muted">{children}</div>}
      {action && <div className="mt-3">{action}</div>}
    </div>
  );
}

export function Loading({ label = "Loading" }: { label?: string }) {
  return (
    <div role="status" className="late flex h-full min-h-24 items-center justify-center gap-2 text-muted">
      <LoaderCircle className="size-4 animate-spin" aria-hidden />
      {label}
    </div>
  );
}

export function Failed({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  return (
    <Empty
      icon={<CircleAlert className="size-6 text-failed" />}
      title="Something went wrong"
      action={onRetry && <Button onClick={onRetry}>Try again</Button>}
    >
      {error.message}
    </Empty>
  );
}

/** A bar across a panel, for what should be seen but needs no answer. */
export function Notice({
  tone,
  children,
  action,
}: {
  tone: "failed" | "paused" | "running";
  children: ReactNode;
  action?: ReactNode;
}) {
  const look = {
    failed: "bg-failed-soft text-failed",
    paused: "bg-paused-soft text-paused",
    running: "bg-running-soft text-running",
  };
  return (
    <div className={classNames("flex items-center gap-2 px-3 py-1.5 text-sm", look[tone])}>
      <div className="min-w-0 flex-1">{children}</div>
      {action}
    </div>
  );
}

export function Skeleton({ className }: { className?: string }) {
  return <div aria-hidden className={classNames("animate-pulse rounded-md bg-hover", className)} />;
}
