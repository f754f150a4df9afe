import { BellOff, CircleDot, Pencil, Plus, Trash2 } from "lucide-react";
import { api } from "@/api/client";
import { useRun } from "@/api/run-context";
import type { BreakpointInfo } from "@/api/types";
import { hostOf } from "@/core/addresses";
import { describeBreakpoint } from "@/features/debug/describe-breakpoint";
import { Button, IconButton } from "@/ui/button";
import { classNames } from "@/ui/class-names";
import { Empty } from "@/ui/feedback";
import { PanelBar } from "@/ui/panel";
import { toast } from "@/ui/toast";

/** Every breakpoint, by group, to be switched, changed and removed. */
export function BreakpointsPanel() {
  const { run, view, debug, breakpoints, stop, selectedView, editBreakpoint, act, confirm, isLive, isViewer } = useRun(
    "run",
    "debug",
    "stop",
    "selectedView",
    "act",
    "confirm",
    "view",
    "version",
    "breakpoints",
    "editBreakpoint",
    "isLive",
    "isViewer",
  );
  const isMuted = debug?.is_muted ?? false;
  const groups = [...new Set(breakpoints.map(({ request }) => request.group ?? ""))].sort();
  const change = async (done: Promise<unknown>): Promise<boolean> => {
    const refusal = await done.then(
      () => null,
      (error: Error) => error,
    );
    if (refusal) toast(refusal.message, "bad");
    else void run.refresh();
    return refusal === null;
  };
  const hits = new Map([...view.breakpoints.values()].map((each) => [each.id, each.hit_count]));
  return (
    <div className="flex h-full flex-col">
      <PanelBar className="justify-between pl-3">
        <span className="text-muted">
          {breakpoints.length === 1 ? "1 breakpoint" : `${breakpoints.length} breakpoints`}
          {isMuted && ", muted"}
        </span>
        {!isViewer && (
          <span className="flex items-center gap-1">
            <IconButton
              size="sm"
              label={isMuted ? "Unmute all breakpoints" : "Mute all breakpoints"}
              isPressed={isMuted}
              disabled={!isLive}
              onClick={() => act("mute", { muted: !isMuted })}
            >
              <BellOff className="size-3.5" />
            </IconButton>
            <IconButton
              size="sm"
              label="Remove all breakpoints…"
              disabled={!isLive || breakpoints.length === 0}
              onClick={() =>
                confirm({
                  title: "Remove all breakpoints?",
                  text: "They are removed from this run and from the flow, so later runs will not use them.",
                  action: "Remove all",
                  onConfirm: () => void change(api.clearBreakpoints(run.id)),
                })
              }
            >
              <Trash2 className="size-3.5" />
            </IconButton>
            <Button
              className="h-7!"
              icon={<Plus className="size-3.5" />}
              disabled={!isLive}
              onClick={() => editBreakpoint({ step: hostOf((selectedView ?? stop)?.step ?? "") || undefined })}
            >
              Add
            </Button>
          </span>
        )}
      </PanelBar>
      {breakpoints.length === 0 ? (
        <Empty icon={<CircleDot className="size-6" />} title="No breakpoints">
          {!isViewer && "Click the dot next to a step in the graph, or in the gutter of the source."}
        </Empty>
      ) : (
        <div className="min-h-0 flex-1 overflow-auto py-1">
          {groups.map((group) => {
            const own = breakpoints.filter(({ request }) => (request.group ?? "") === group);
            const isOn = own.some(({ request }) => request.enabled !== false);
            return (
              <section key={group} aria-label={group || "Breakpoints"}>
                {group && (
                  <label className="flex items-center gap-2 px-3 py-1 font-semibold text-muted text-sm">
                    <input
                      type="checkbox"
                      className="accent-(--accent)"
                      checked={isOn}
                      disabled={!isLive || isViewer}
                      onChange={() => change(api.enableGroup(run.id, group, !isOn))}
                    />
                    {group}
                  </label>
                )}
                <ul>
                  {own.map((breakpoint) => (
                    <Row
                      key={breakpoint.id}
                      breakpoint={breakpoint}
                      hits={hits.get(breakpoint.id) ?? breakpoint.hit_count}
                      isLive={isLive}
                      isViewer={isViewer}
                      onSwitch={() =>
                        change(
                          // and nothing else: the rest may be another by now
                          api.changeBreakpoint(run.id, breakpoint.id, {
                            enabled: breakpoint.request.enabled === false,
                          }),
                        )
                      }
                      onEdit={() => editBreakpoint(breakpoint.request, breakpoint.id)}
                      onRemove={() =>
                        change(api.removeBreakpoint(run.id, breakpoint.id)).then(
                          (isRemoved) =>
                            isRemoved &&
                            toast(`Removed breakpoint ${breakpoint.id}`, "info", {
                              label: "Undo",
                              onSelect: () => void change(api.addBreakpoint(run.id, breakpoint.request)),
                            }),
                        )
                      }
                    />
                  ))}
                </ul>
              </section>
            );
          })}
        </div>
      )}
    </div>
  );
}

type RowProps = {
  breakpoint: BreakpointInfo;
  hits: number;
  isLive: boolean;
  isViewer: boolean;
  onSwitch: () => void;
  onEdit: () => void;
  onRemove: () => void;
};

function Row({ breakpoint: { id, request }, hits, isLive, isViewer, onSwitch, onEdit, onRemove }: RowProps) {
  const { where, more } = describeBreakpoint(request);
  const isOn = request.enabled !== false;
  return (
    <li className="flex items-center gap-2 py-1 pr-1.5 pl-3 hover:bg-hover">
      <input
        type="checkbox"
        className="accent-(--breakpoint)"
        aria-label={`Breakpoint ${id}, ${where}`}
        checked={isOn}
        disabled={!isLive || isViewer}
        onChange={onSwitch}
      />
      <div className={classNames("min-w-0 flex-1", !isOn && "text-muted")}>
        <p className="truncate">
          <span className="text-faint">#{id}</span> {where}
        </p>
        {more && <p className="truncate font-mono text-muted text-sm">{more}</p>}
        {request.note && <p className="break-words text-muted text-sm">{request.note}</p>}
      </div>
      {hits > 0 && <span className="shrink-0 text-muted text-sm tabular">{hits === 1 ? "1 hit" : `${hits} hits`}</span>}
      {!isViewer && (
        <>
          <IconButton size="sm" label={`Edit breakpoint ${id}`} disabled={!isLive} onClick={onEdit}>
            <Pencil className="size-3.5" />
          </IconButton>
          <IconButton size="sm" label={`Remove breakpoint ${id}`} disabled={!isLive} onClick={onRemove}>
            <Trash2 className="size-3.5" />
          </IconButton>
        </>
      )}
    </li>
  );
}
