import { Plus, SquareTerminal, X } from "lucide-react";
import { useState } from "react";
import { useRun } from "@/api/run-context";
import { keysOf } from "@/core/keys";
import { NeedsStop } from "@/features/debug/needs-stop";
import { Button, IconButton } from "@/ui/button";
import { Empty, Loading } from "@/ui/feedback";
import { Checkbox } from "@/ui/field";
import { useSetting } from "@/ui/hooks";
import { Kbd } from "@/ui/kbd";
import { later } from "@/ui/later";

const ShellTerminal = later(
  () => import("@/features/debug/shell-terminal").then((module) => module.ShellTerminal),
  <Loading label="Opening the shell" />,
);

type Shell = {
  id: number;
  stop: number;
  title: string;
  mode: "shell" | "sidecar";
  isRecorded: boolean;
  isEnded: boolean;
};

let nextShell = 1;

/** Shells where stopped steps work, with their environment: one tab each. They end with their stop. */
export function ShellPanel() {
  const { run, stop, stops } = useRun("run", "stop", "stops");
  const [shells, setShells] = useState<Shell[]>([]);
  const [active, setActive] = useState<number | null>(null);
  const [records, setRecords] = useSetting("shell.record", false);
  const open = (mode: Shell["mode"]) => {
    if (!stop) return;
    const shell = {
      id: nextShell++,
      stop: stop.id,
      title: mode === "shell" ? stop.step : `${stop.step} (read-only)`,
      mode,
      isRecorded: records,
      isEnded: false,
    };
    setShells([...shells, shell]);
    setActive(shell.id);
  };
  const close = (id: number) => {
    const left = shells.filter((shell) => shell.id !== id);
    setShells(left);
    setActive(left.at(-1)?.id ?? null);
  };
  if (shells.length === 0) {
    if (!stop) return <NeedsStop what="the workspace in a shell" />;
    return (
      <Empty
        icon={<SquareTerminal className="size-6" />}
        title="No shell open"
        action={
          <div className="flex flex-col items-center gap-3">
            <div className="flex gap-2">
              <Button look="primary" onClick={() => open("shell")}>
                Open shell
              </Button>
              <Button onClick={() => open("sidecar")}>Read-only shell</Button>
            </div>
            <Checkbox
              label="Save recording to run artifacts"
              checked={records}
              onChange={(event) => setRecords(event.target.checked)}
            />
          </div>
        }
      >
        Open a shell in the working directory and environment of {stop.step || "the run"}. Changes are kept when you
        retry.
      </Empty>
    );
  }
  return (
    <div className="flex h-full flex-col">
      <div className="flex shrink-0 items-center gap-1 border-line border-b px-2 py-1">
        <div role="tablist" aria-label="Shells" className="flex min-w-0 gap-1 overflow-x-auto">
          {shells.map((shell) => (
            <span key={shell.id} className="flex items-center rounded-md bg-sunken">
              <button
                type="button"
                role="tab"
                aria-selected={shell.id === active}
                onClick={() => setActive(shell.id)}
                className="rounded-md px-2 py-0.5 text-sm aria-selected:bg-accent-soft aria-selected:text-accent"
              >
                {shell.isRecorded && (
                  <span className="mr-1 text-failed" title="Recording">
                    ●
                  </span>
                )}
                {shell.title}
                {(shell.isEnded || !stops.some((each) => each.id === shell.stop)) && (
                  <span className="text-faint"> ended</span>
                )}
              </button>
              <IconButton size="sm" label={`Close shell ${shell.title}`} onClick={() => close(shell.id)}>
                <X className="size-3" />
              </IconButton>
            </span>
          ))}
        </div>
        <IconButton size="sm" label="Open another shell" disabled={!stop} onClick={() => open("shell")}>
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
              stop={shell.stop}
              mode={shell.mode}
              record={shell.isRecorded ? "screen" : null}
              isShown={shell.id === active}
              onEnd={() =>
                setShells((all) => all.map((each) => (each.id === shell.id ? { ...each, isEnded: true } : each)))
              }
            />
          </div>
        ))}
      </div>
    </div>
  );
}
