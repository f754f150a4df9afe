import { ChevronRight, Hand, Pin, PinOff, RotateCcw, Square, Trash2, Wifi, WifiOff } from "lucide-react";
import { Link } from "wouter";
import { useRun } from "@/api/run-context";
import { formatDuration } from "@/core/time";
import { Button } from "@/ui/button";
import { useNow } from "@/ui/hooks";
import { Menu, type MenuItem } from "@/ui/menu";
import { Badge, StatusBadge } from "@/ui/status-icon";
import { Tooltip } from "@/ui/tooltip";

type RunHeaderProps = {
  onRerun: (how: { fromStep?: string; stops?: boolean; usesFile?: boolean }) => void;
  onCancel: () => void;
  onPin: () => void;
  onRemove: () => void;
};

export function RunHeader({ onRerun, onCancel, onPin, onRemove }: RunHeaderProps) {
  const { now, detail, isLive, selected } = useRun();
  const { view } = now;
  const clock = useNow(isLive);
  const status =
    now.stops.length > 0 ? "paused" : now.isLoaded && view.status !== "pending" ? view.status : detail.status;
  const startedAt = view.started_at ?? detail.started_at;
  const seconds = startedAt === null ? null : (view.ended_at ?? detail.ended_at ?? clock) - startedAt;
  const step = selected ? (view.steps.get(selected)?.step ?? null) : null;
  const again: MenuItem[] = [
    { label: "Run again", icon: <RotateCcw className="size-3.5" />, onSelect: () => onRerun({}) },
    { label: "Run again and stop at the first step", onSelect: () => onRerun({ stops: true }) },
    { label: "Run again with the file as it is now", onSelect: () => onRerun({ usesFile: true }) },
    { kind: "separator" },
    {
      label: step ? `Run again from ${step}` : "Run again from a step: select one",
      isDisabled: !step,
      onSelect: () => onRerun({ fromStep: step ?? undefined }),
    },
    {
      label: step ? `Debug from ${step}` : "Debug from a step: select one",
      isDisabled: !step,
      onSelect: () => onRerun({ fromStep: step ?? undefined, stops: true }),
    },
  ];
  const more: MenuItem[] = [
    {
      label: detail.is_pinned ? "Unpin" : "Keep until unpinned",
      icon: detail.is_pinned ? <PinOff className="size-3.5" /> : <Pin className="size-3.5" />,
      onSelect: onPin,
    },
    { label: "Delete", icon: <Trash2 className="size-3.5" />, isDanger: true, isDisabled: isLive, onSelect: onRemove },
  ];
  return (
    <header className="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 border-line border-b bg-surface px-3 py-1.5">
      <nav aria-label="Where you are" className="flex min-w-0 items-center gap-1">
        <Link href="/" className="text-muted hover:text-text">
          Runs
        </Link>
        <ChevronRight className="size-3.5 text-faint" aria-hidden />
        <h1 className="truncate font-semibold text-lg">{detail.flow}</h1>
      </nav>
      <StatusBadge status={status} />
      {(view.interventions.length > 0 || detail.intervened) && (
        <Badge tone="paused" title="Somebody had a hand in this run: it did not pass by itself">
          <Hand className="size-3" aria-hidden />
          by hand
        </Badge>
      )}
      {seconds !== null && <span className="text-muted tabular">{formatDuration(seconds)}</span>}
      <span className="hidden truncate font-mono text-faint text-sm lg:inline">{detail.id}</span>
      <span className="flex-1" />
      <ConnectionNote />
      {isLive && (
        <Button look="quiet" icon={<Square className="size-3.5" />} onClick={onCancel}>
          Cancel
        </Button>
      )}
      <Menu trigger={<Button icon={<RotateCcw className="size-3.5" />}>Run again</Button>} items={again} />
      <Menu
        trigger={
          <Button look="quiet" aria-label="More">
            ···
          </Button>
        }
        items={more}
      />
    </header>
  );
}

function ConnectionNote() {
  const { now } = useRun();
  const clock = useNow(now.connection === "retrying", 500);
  if (now.connection === "ended") return null;
  if (now.connection === "live") {
    return (
      <Tooltip text="Connected: the page follows the run">
        <span className="flex items-center gap-1 text-muted text-sm">
          <Wifi className="size-3.5 text-passed" aria-hidden />
          <span className="hidden md:inline">live</span>
        </span>
      </Tooltip>
    );
  }
  const seconds = now.retryAt === null ? 0 : Math.max(0, Math.ceil(now.retryAt / 1000 - clock));
  return (
    <span role="status" className="flex items-center gap-1 text-paused text-sm">
      <WifiOff className="size-3.5" aria-hidden />
      {now.connection === "connecting" ? "connecting" : `offline, trying again${seconds > 1 ? ` in ${seconds} s` : ""}`}
    </span>
  );
}
