import { useQuery } from "@tanstack/react-query";
import { Camera, History, RotateCcw, Undo2 } from "lucide-react";
import { type KeyboardEvent, useEffect, useState } from "react";
import { api } from "@/api/client";
import { stepOf, useRun } from "@/api/run-context";
import { formatClock } from "@/core/time";
import { Differences, DiffView } from "@/features/debug/diff-view";
import { FileChangesView } from "@/features/debug/file-changes";
import { Button } from "@/ui/button";
import { classNames } from "@/ui/class-names";
import { Empty, Loading } from "@/ui/feedback";
import { PanelBar } from "@/ui/panel";
import { useVirtualRows } from "@/ui/virtual-rows";

const ROW = 27;

/** Every point that can be gone back to: scrub through them, see what was different then, and go back. */
export function HistoryPanel() {
  const { run, debug, pending, detail, stop, act, select, isLive, isViewer, confirm } = useRun(
    "run",
    "debug",
    "pending",
    "detail",
    "stop",
    "act",
    "select",
    "isLive",
    "isViewer",
    "confirm",
  );
  const points = useQuery({
    queryKey: ["history", run.id, debug?.last_event],
    queryFn: () => api.history(run.id),
    placeholderData: (kept) => kept,
  });
  const [chosen, setChosen] = useState<number | null>(null); // by its number: points come and go
  const all = points.data ?? [];
  const last = all.length - 1;
  const at = all.findIndex((each) => each.number === chosen);
  const index = at === -1 ? last : at;
  const point = all[index];
  const end = all[last];
  const diff = useQuery({
    queryKey: ["history-diff", run.id, point?.number, end?.number],
    queryFn: () => api.diff(run.id, { from: point?.number ?? 0, to: end?.number ?? 0 }),
    enabled: at !== -1 && point !== undefined && end !== undefined && point.number !== end.number,
  });
  const { box, virtual } = useVirtualRows(all.length, ROW);
  useEffect(() => {
    if (last >= 0) virtual.scrollToIndex(index);
  }, [index, last, virtual]);

  if (points.isLoading) return <Loading label="Loading history" />;
  if (all.length === 0) return <Empty icon={<History className="size-6" />} title="No history yet" />;
  const choose = (next: number) => {
    const point = all[next];
    if (!point) return;
    setChosen(point.number);
    select(point.occurrence);
  };
  const press = (event: KeyboardEvent) => {
    const to = { ArrowDown: index + 1, ArrowUp: index - 1 }[event.key];
    if (to === undefined || to < 0 || to > last) return;
    event.preventDefault();
    choose(to);
  };
  return (
    <div className="flex h-full flex-col">
      <PanelBar wraps className="gap-x-3 gap-y-1.5 pl-3">
        <input
          type="range"
          aria-label="Point in the history"
          className="min-w-40 flex-1 accent-(--accent)"
          min={0}
          max={last}
          value={index}
          onChange={(event) => choose(Number(event.target.value))}
        />
        <span className="text-muted text-sm tabular">
          {index + 1}/{all.length}
        </span>
        {!isViewer && (
          <>
            <Button
              className="h-7!"
              icon={<Undo2 className="size-3.5" />}
              disabled={!stop?.allowed.includes("rewind") || !point}
              isBusy={pending === "rewind"}
              onClick={async () => {
                if (stop && point && (await act("rewind", { stop: stop.id, point: point.number }))) setChosen(null);
              }}
            >
              Rewind to here
            </Button>
            <Button
              className="h-7!"
              icon={<RotateCcw className="size-3.5" />}
              disabled={!stop}
              isBusy={pending === "restart"}
              onClick={() =>
                stop &&
                confirm({
                  title: `Restart ${stop.frame}?`,
                  text: "Every step of this frame runs again, and its results so far are discarded.",
                  action: "Restart frame",
                  onConfirm: () => void act("restart", { stop: stop.id }),
                })
              }
            >
              Restart frame…
            </Button>
          </>
        )}
      </PanelBar>
      {at !== -1 && point && end && point.number !== end.number && (
        <Differences>
          {diff.error ? (
            <p className="text-muted text-sm">{diff.error.message}</p>
          ) : (
            <DiffView changes={diff.data} nothing="No values have changed since." />
          )}
          <FileChangesView
            key={point.number}
            run={run.id}
            from={point.number}
            to={isLive ? undefined : end.number}
            now={end.number}
          />
        </Differences>
      )}
      <div
        ref={box}
        role="listbox"
        aria-label="Points"
        tabIndex={0}
        aria-activedescendant={`point-${index}`}
        onKeyDown={press}
        className="min-h-0 flex-1 overflow-auto focus-visible:outline-2 focus-visible:-outline-offset-2"
      >
        <div role="presentation" className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const each = all[item.index];
            if (!each) return null;
            return (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the keys
              // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus and names its active row
              <div
                key={each.number}
                id={`point-${item.index}`}
                role="option"
                aria-selected={item.index === index}
                onClick={() => choose(item.index)}
                className={classNames(
                  "absolute inset-x-0 flex items-center gap-2 px-3",
                  item.index === index ? "bg-accent-soft" : "hover:bg-hover",
                  item.index > index && "opacity-55",
                )}
                style={{ top: item.start, height: ROW }}
              >
                <span className="w-10 shrink-0 text-faint text-sm tabular">{each.number}</span>
                <span className="shrink-0 text-muted text-sm">{each.position}</span>
                <span className="min-w-0 truncate">{stepOf(detail, each.step)?.title ?? (each.step || "the run")}</span>
                <span className="min-w-0 flex-1 truncate text-faint text-sm">
                  {each.frame === "main" ? "" : each.frame}
                </span>
                {each.has_snapshot && <Camera className="size-3.5 text-muted" aria-label="with a workspace snapshot" />}
                {each.at > 0 && <span className="text-faint text-sm tabular">{formatClock(each.at)}</span>}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
