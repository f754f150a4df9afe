import { ChevronRight, Hand, Pin, PinOff, RotateCcw, Square, Trash2, Wifi, WifiOff } from "lucide-react";
import { Link } from "wouter";
import { useRun, useRunValue } from "@/api/run-context";
import { durationsOf } from "@/core/durations";
import { keysOf } from "@/core/keys";
import { formatDuration } from "@/core/time";
import { RunOrigin } from "@/features/runs/run-origin";
import { Button } from "@/ui/button";
import { useNow } from "@/ui/hooks";
import { Menu, type MenuItem } from "@/ui/menu";
import { Badge, StatusBadge } from "@/ui/status-icon";
import { tip } from "@/ui/tooltip";

type RunHeaderProps = {
  onRerun: (how: { fromStep?: string; stops?: boolean; usesFile?: boolean }) => void;
  onChooseCommit: () => void;
  onCancel: () => void;
  onPin: () => void;
  onRemove: () => void;
};

export function RunHeader({ onRerun, onChooseCommit, onCancel, onPin, onRemove }: RunHeaderProps) {
  const page = useRun("status", "stops", "isLoaded", "detail", "isLive", "isViewer", "selectedView");
  const { detail, isLive, isViewer } = page;
  const [runClock, interventions] = [
    useRunValue(({ view }) => view.clock),
    useRunValue(({ view }) => view.interventions.length),
  ];
  const now = useNow(isLive);
  const status =
    page.stops.length > 0 ? "paused" : page.isLoaded && page.status !== "pending" ? page.status : detail.status;
  const began = detail.started_at; // which is known before the events of the run are
  const soFar = began === null ? null : (detail.ended_at ?? now) - began;
  const seconds = runClock === null ? soFar : durationsOf(runClock, now).total;
  const step = page.selectedView?.step ?? null;
  const again: MenuItem[] = [
    { label: "Re-run", icon: <RotateCcw className="size-3.5" />, onSelect: () => onRerun({}) },
    { label: "Re-run and pause on first step", onSelect: () => onRerun({ stops: true }) },
    { label: "Re-run with the current file", onSelect: () => onRerun({ usesFile: true }) },
    { label: "Re-run on another commit…", isDisabled: detail.commit === null, onSelect: onChooseCommit },
    { kind: "separator" },
    {
      label: step ? `Re-run from ${step}` : "Re-run from a step (select one)",
      isDisabled: !step,
      onSelect: () => onRerun({ fromStep: step ?? undefined }),
    },
    {
      label: step ? `Debug from ${step}` : "Debug from a step (select one)",
      isDisabled: !step,
      onSelect: () => onRerun({ fromStep: step ?? undefined, stops: true }),
    },
  ];
  const more: MenuItem[] = [
    {
      label: detail.is_pinned ? "Unpin" : "Pin",
      icon: detail.is_pinned ? <PinOff className="size-3.5" /> : <Pin className="size-3.5" />,
      onSelect: onPin,
    },
    { label: "Delete", icon: <Trash2 className="size-3.5" />, isDanger: true, isDisabled: isLive, onSelect: onRemove },
  ];
  return (
    <header className="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 border-line md:flex-nowrap border-b bg-surface px-3 py-1.5">
      <nav aria-label="Breadcrumb" className="flex min-w-0 items-center gap-1">
        <Link href="/" className="text-muted hover:text-text">
          Runs
        </Link>
        <ChevronRight className="size-3.5 shrink-0 text-faint" aria-hidden />
        <h1 className="truncate font-semibold text-lg" title={detail.flow}>
          {detail.flow}
        </h1>
      </nav>
      <StatusBadge status={status} />
      {(interventions > 0 || detail.intervened) && (
        <Badge tone="paused" title="This run was modified in the debugger">
          <Hand className="size-3" aria-hidden />
          intervened
        </Badge>
      )}
      {seconds !== null && <span className="shrink-0 text-muted tabular">{formatDuration(seconds)}</span>}
      <RunOrigin run={detail} />
      <span className="hidden shrink-0 font-mono text-faint text-sm 2xl:inline">{detail.id}</span>
      <span className="flex-1" />
      <ConnectionNote />
      {isLive && !isViewer && (
        <Button
          look="quiet"
          icon={<Square className="size-3.5 text-failed" />}
          aria-keyshortcuts={keysOf("cancel")}
          onClick={onCancel}
        >
          Cancel run…
        </Button>
      )}
      {!isViewer && (
        <>
          <Menu trigger={<Button icon={<RotateCcw className="size-3.5" />}>Re-run</Button>} items={again} />
          <Menu
            trigger={
              <Button look="quiet" aria-label="More">
                ···
              </Button>
            }
            items={more}
          />
        </>
      )}
    </header>
  );
}

function ConnectionNote() {
  const { connection, retryAt } = useRun("connection", "retryAt");
  const clock = useNow(connection === "retrying", 500);
  if (connection === "ended") return null;
  if (connection === "live") {
    return (
      <span {...tip("Connected: live updates")} className="flex items-center gap-1 text-muted text-sm">
        <Wifi className="size-3.5 text-passed" aria-hidden />
        <span className="hidden md:inline">live</span>
      </span>
    );
  }
  const seconds = retryAt === null ? 0 : Math.max(0, Math.ceil(retryAt / 1000 - clock));
  return (
    <span role="status" className="flex items-center gap-1 text-paused text-sm">
      <WifiOff className="size-3.5" aria-hidden />
      {connection === "connecting" ? (
        <span className="hidden md:inline">connecting</span>
      ) : (
        `offline, reconnecting${seconds > 1 ? ` in ${seconds} s` : ""}`
      )}
    </span>
  );
}
