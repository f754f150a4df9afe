import { type RunPageState, stepOf } from "@/api/run-context";
import type { StepKind } from "@/api/types";
import type { Command } from "@/app/commands";
import type { MainView } from "@/app/run-layout";

const VIEWS = [
  ["graph", "Show the graph"],
  ["list", "Show the list of steps"],
  ["source", "Show the source"],
  ["timing", "Show the timeline"],
] as const;

/** What can be done on a run page by key or by name. */
export function runCommands(page: RunPageState, setView: (view: MainView) => void): Command[] {
  const { stop, act, now, isLive } = page;
  const can = (verb: string) => (stop?.allowed.includes(verb) ?? false) && now.pending === null;
  const step = (kind: StepKind) => () => void (stop && act("step", { stop: stop.id, kind }));
  const turn = (by: number) => () => {
    const at = now.stops.findIndex((each) => each.frame === page.frame);
    const next = now.stops[(at + by + now.stops.length) % now.stops.length];
    if (next) page.selectFrame(next.frame);
  };
  const selected =
    page.selected === null
      ? undefined
      : stepOf(page.detail, now.view.steps.get(page.selected)?.step ?? page.selected.replace(/\[\d+\]|#\d+/g, ""));

  return [
    {
      id: "continue",
      title: "Continue",
      shortcut: "continue",
      isPossible: can("continue"),
      run: () => void (stop && act("continue", { stop: stop.id })),
    },
    { id: "over", title: "Step over", shortcut: "over", isPossible: can("step_over"), run: step("over") },
    { id: "into", title: "Step into", shortcut: "into", isPossible: can("step_into"), run: step("into") },
    { id: "out", title: "Step out", shortcut: "out", isPossible: can("step_out"), run: step("out") },
    {
      id: "back",
      title: "Step back",
      shortcut: "back",
      isPossible: can("step_back") || can("rewind"),
      run: step("back"),
    },
    { id: "pause", title: "Pause all frames", shortcut: "pause", isPossible: isLive, run: () => void act("pause", {}) },
    {
      id: "continue-all",
      title: "Continue all frames",
      isPossible: now.stops.length > 1,
      run: () => void act("continue", { all: true }),
    },
    {
      id: "retry",
      title: "Run this step again",
      isPossible: can("retry"),
      run: () => void (stop && act("retry", { stop: stop.id })),
    },
    {
      id: "skip",
      title: "Skip this step",
      isPossible: can("skip"),
      run: () => void (stop && act("skip", { stop: stop.id })),
    },
    {
      id: "undo",
      title: "Undo the last edit",
      isPossible: (now.debug?.edits.length ?? 0) > 0,
      run: () => void (stop && act("undo", { stop: stop.id })),
    },
    {
      id: "breakpoint",
      title: `Toggle a breakpoint at ${selected?.title ?? "the selected step"}`,
      shortcut: "breakpoint",
      isPossible: isLive && selected !== undefined,
      run: () => selected && page.toggleBreakpoint(selected),
    },
    { id: "add-breakpoint", title: "Add a breakpoint…", isPossible: isLive, run: () => page.editBreakpoint({}) },
    {
      id: "next-frame",
      title: "Next stopped frame",
      shortcut: "next-frame",
      isPossible: now.stops.length > 1,
      run: turn(1),
    },
    {
      id: "previous-frame",
      title: "Previous stopped frame",
      shortcut: "previous-frame",
      isPossible: now.stops.length > 1,
      run: turn(-1),
    },
    ...VIEWS.map(([view, title]): Command => ({ id: `view-${view}`, title, shortcut: view, run: () => setView(view) })),
  ];
}
