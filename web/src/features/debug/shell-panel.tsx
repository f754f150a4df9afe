import { Plus, SquareTerminal, X } from "lucide-react";
import { useEffect, useState } from "react";
import { type ShellPlace, shellPlaceOf, useRun } from "@/api/run-context";
import type { StopInfo } from "@/api/types";
import { keysOf } from "@/core/keys";
import { NeedsStop } from "@/features/debug/needs-stop";
import { Button, IconButton } from "@/ui/button";
import { Empty, Loading } from "@/ui/feedback";
import { Checkbox } from "@/ui/field";
import { useSetting } from "@/ui/hooks";
import { Kbd } from "@/ui/kbd";
import { later } from "@/ui/later";
import { RECORDS_SHELLS } from "@/ui/settings";

const ShellTerminal = later(
  () => import("@/features/debug/shell-terminal").then((module) => module.ShellTerminal),
  <Loading label="Opening the shell" />,
);

/** Shells in the place of steps, with their environment: one tab each. They end with their stop, or with their step. */
export function ShellPanel() {
  const page = useRun(
    "run",
    "view",
    "version", // which says when the view has changed
    "detail",
    "selected",
    "stop",
    "stops",
    "shells",
    "openShell",
    "endShell",
    "closeShell",
  );
  const { run, stops, shells, openShell, endShell, closeShell } = page;
  const place = shellPlaceOf(page);
  const [chosen, setChosen] = useState<number | null>(null);
  const newest = shells.at(-1)?.id ?? null;
  useEffect(() => setChosen(newest), [newest]); // a shell is shown as soon as it is opened
  const active = shells.some((shell) => shell.id === chosen) ? chosen : newest;
  const [records, setRecords] = useSetting(RECORDS_SHELLS, false);
  if (shells.length === 0) {
    if (!place) return <NeedsStop what="the workspace in a shell" />;
    return (
      <Empty
        icon={<SquareTerminal className="size-6" />}
        title="No shell open"
        action={
          <div className="flex flex-col items-center gap-3">
            <div className="flex gap-2">
              <Button look="primary" onClick={() => openShell("shell")}>
                Open shell
              </Button>
              <Button onClick={() => openShell("sidecar")}>Read-only shell</Button>
            </div>
            <Checkbox
              label="Save recording to run artifacts"
              checked={records}
              onChange={(event) => setRecords(event.target.checked)}
            />
          </div>
        }
      >
        Open a shell in the working directory and environment of {place.step || "the run"}
        {place.stop === null ? ", while it runs." : ". Changes are kept when you retry."}
      </Empty>
    );
  }
  return (
    <div className="flex h-full flex-col">
      <div className="flex shrink-0 items-center gap-1 border-line border-b px-2 py-1">
        <fieldset aria-label="Shells" className="flex min-w-0 gap-1 overflow-x-auto">
          {shells.map((shell) => (
            <span key={shell.id} className="flex items-center rounded-md bg-sunken">
              <button
                type="button"
                aria-pressed={shell.id === active}
                onClick={() => setChosen(shell.id)}
                className="rounded-md px-2 py-0.5 text-sm aria-pressed:bg-accent-soft aria-pressed:text-accent"
              >
                {shell.isRecorded && (
                  <span className="mr-1 text-failed" title="Recording">
                    ●
                  </span>
                )}
                {shell.title}
                {(shell.isEnded || !isThere(shell.place, stops)) && <span className="text-faint"> ended</span>}
              </button>
              <IconButton size="sm" label={`Close shell ${shell.title}`} onClick={() => closeShell(shell.id)}>
                <X className="size-3" />
              </IconButton>
            </span>
          ))}
        </fieldset>
        <IconButton size="sm" label="Open another shell" disabled={!place} onClick={() => openShell("shell")}>
          <Plus className="size-3.5" />
        </IconButton>
        <span className="flex-1" />
        <span className="hidden shrink-0 items-center gap-1 text-faint text-xs md:flex">
          <Kbd keys={keysOf("palette")} /> exits the terminal
        </span>
      </div>
      <div className="relative min-h-0 flex-1">
        {shells.map((shell) => (
          <div key={shell.id} className={shell.id === active ? "absolute inset-0" : "hidden"}>
            <ShellTerminal
              run={run.id}
              place={shell.place}
              mode={shell.mode}
              record={shell.isRecorded ? "screen" : null}
              isShown={shell.id === active}
              onEnd={() => endShell(shell.id)}
            />
          </div>
        ))}
      </div>
    </div>
  );
}

/** A shell in a running step says itself when it has ended. */
function isThere({ stop }: ShellPlace, stops: readonly StopInfo[]): boolean {
  return stop === null || stops.some((each) => each.id === stop);
}
