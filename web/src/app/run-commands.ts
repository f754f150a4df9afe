import { hasFix, type RunPageState, stepOf } from "@/api/run-context";
import type { StepKind } from "@/api/types";
import type { Command } from "@/app/commands";
import { labelsAt } from "@/features/debug/call-labels";

const VIEWS = [
  ["graph", "Show the graph"],
  ["list", "Show the list of steps"],
  ["source", "Show the source"],
  ["timing", "Show the timeline"],
  ["tests", "Show the tests"],
  ["artifacts", "Show the files"],
  ["fix", "Show the fix loop"],
] as const;

/** The parts of the page that decide what can be done. */
export const COMMANDS_NEED = [
  "detail",
  "frames",
  "stops",
  "frame",
  "selectFrame",
  "stop",
  "pending",
  "edits",
  "selected",
  "selectedView",
  "act",
  "toggleBreakpoint",
  "editBreakpoint",
  "askToCancel",
  "answerCall",
  "confirm",
  "show",
  "openShell",
  "stepBack",
  "stepForward",
  "isLive",
  "isViewer",
] as const;

type CommandedPage = Pick<RunPageState, (typeof COMMANDS_NEED)[number]>;

/** What can be done on a run page by key or by name; a viewer can only look around. */
export function runCommands(page: CommandedPage): Command[] {
  return page.isViewer ? lookingCommands(page) : [...actingCommands(page), ...lookingCommands(page)];
}

function actingCommands(page: CommandedPage): Command[] {
  const { stop, stops, act, isLive } = page;
  const labels = labelsAt(stop);
  const isPausing = page.frames.some((each) => each.state === "pausing");
  const can = (verb: string) => (stop?.allowed.includes(verb) ?? false) && page.pending === null;
  const step = (kind: StepKind) => () => void (stop && act("step", { stop: stop.id, kind }));
  const selected =
    page.selected === null
      ? undefined
      : stepOf(page.detail, page.selectedView?.step ?? page.selected.replace(/\[\d+\]|#\d+/g, ""));

  return [
    {
      id: "continue",
      title: labels.continue,
      shortcut: "continue",
      isPossible: can("continue"),
      run: () => void (stop && act("continue", { stop: stop.id })),
    },
    { id: "over", title: labels.over, shortcut: "over", isPossible: can("step_over"), run: step("over") },
    { id: "into", title: "Step into", shortcut: "into", isPossible: can("step_into"), run: step("into") },
    { id: "out", title: labels.out, shortcut: "out", isPossible: can("step_out"), run: step("out") },
    {
      id: "back",
      title: "Step back",
      shortcut: "back",
      isPossible: Boolean(stop?.back) && page.pending === null,
      run: page.stepBack,
    },
    {
      id: "forward",
      title: "Undo step back",
      isPossible: Boolean(stop?.forward) && page.pending === null,
      run: page.stepForward,
    },
    {
      id: "pause",
      title: isPausing ? "Cancel the pending pause" : "Pause all frames",
      shortcut: "pause",
      isPossible: isLive,
      run: () => void act(isPausing ? "cancel_pause" : "pause", {}),
    },
    {
      id: "continue-all",
      title: "Continue all frames",
      isPossible: stops.length > 1,
      run: () => void act("continue", { all: true }),
    },
    {
      id: "retry",
      title: "Retry step",
      shortcut: "retry",
      isPossible: can("retry"),
      run: () => void (stop && act("retry", { stop: stop.id })),
    },
    {
      id: "skip",
      title: labels.skip,
      isPossible: can("skip"),
      run: () => (stop?.call ? page.answerCall("refuse") : void (stop && act("skip", { stop: stop.id }))),
    },
    ...(stop?.call ? callCommands(page, can) : []),
    { id: "shell", title: "New shell", isPossible: isLive, run: () => page.openShell("shell") },
    {
      id: "stop-step",
      title: "Stop this step here",
      isPossible: isLive && page.selectedView?.status === "running" && !stop,
      run: () => page.selected && void act("stop_step", { step: page.selected }),
    },
    { id: "cancel", title: "Cancel run…", shortcut: "cancel", isPossible: isLive, run: page.askToCancel },
    {
      id: "undo",
      title: "Undo last edit",
      isPossible: page.edits.length > 0,
      run: () => void (stop && act("undo", { stop: stop.id })),
    },
    {
      id: "breakpoint",
      title: `Toggle breakpoint at ${selected?.title ?? "the selected step"}`,
      shortcut: "breakpoint",
      isPossible: isLive && selected !== undefined,
      run: () => selected && page.toggleBreakpoint(selected),
    },
    {
      id: "add-breakpoint",
      title: "Add breakpoint…",
      isPossible: isLive,
      run: () => page.editBreakpoint(selected ? { step: selected.path } : {}),
    },
  ];
}

function callCommands({ stop, answerCall }: CommandedPage, can: (verb: string) => boolean): Command[] {
  const isBefore = stop?.position === "before";
  return [
    { id: "edit-call", title: "Edit input of the call…", isPossible: can("config"), run: () => answerCall("edit") },
    {
      id: "call-result",
      title: isBefore ? "Give a result to the call…" : "Replace the result of the call…",
      isPossible: can("force"),
      run: () => answerCall("result"),
    },
    {
      id: "call-inject",
      title: "Inject a shell step before the call…",
      isPossible: can("inject"),
      run: () => answerCall("inject"),
    },
  ];
}

function lookingCommands(page: CommandedPage): Command[] {
  const { stops } = page;
  const turn = (by: number) => () => {
    const at = stops.findIndex((each) => each.frame === page.frame);
    const next = stops[(at + by + stops.length) % stops.length];
    if (next) page.selectFrame(next.frame);
  };
  return [
    {
      id: "next-frame",
      title: "Next paused frame",
      shortcut: "next-frame",
      isPossible: stops.length > 1,
      run: turn(1),
    },
    {
      id: "previous-frame",
      title: "Previous paused frame",
      shortcut: "previous-frame",
      isPossible: stops.length > 1,
      run: turn(-1),
    },
    ...VIEWS.map(
      ([view, title]): Command => ({
        id: `view-${view}`,
        title,
        shortcut: view,
        isPossible: view !== "fix" || hasFix(page.detail),
        run: () => page.show({ view }),
      }),
    ),
  ];
}
