/** The run that a page shows, what is selected in it, and how to act on it: for every feature of the page. */

import { createContext, useContext, useRef, useSyncExternalStore } from "react";
import type { LiveRun, RunSnapshot } from "@/api/live-run";
import type { BreakpointRequest, DebugVerb, DebugVerbs, RunDetail, StepInfo, StopInfo } from "@/api/types";
import { callOf, hostOf, plannedPath } from "@/core/addresses";
import { nameOfCall } from "@/core/agent-view";
import type { StepView } from "@/core/run-view";

/** Which panel is shown in each area of the page; `area` is the one that a narrow screen shows. */
export type Panels = {
  area: "flow" | "step" | "output";
  view: "graph" | "list" | "source" | "timing" | "tests" | "fix" | "artifacts";
  side: "step" | "agent" | "variables" | "watch" | "frames" | "breakpoints" | "inject" | "context";
  dock: "log" | "console" | "history" | "shell";
};

/** Where a shell can be opened: at the stop of the frame, or in a step that runs. */
export type ShellPlace = { stop: number | null; step: string };

/** A shell that was opened on this page. */
export type Shell = {
  id: number;
  place: ShellPlace;
  title: string;
  mode: "shell" | "sidecar";
  isRecorded: boolean;
  isEnded: boolean;
};

/** What to ask before something is done that throws work away. */
export type Confirmation = { title: string; text: string; action: string; dismiss?: string; onConfirm: () => void };

/** What a user can say to a tool call besides letting it pass: each is asked for in a dialog. */
export type CallAnswer = "edit" | "refuse" | "result" | "inject";

/** A run with the steps that were injected into it, which its flow does not have. */
export type RunDetailNow = RunDetail & { injected?: readonly StepInfo[] };

export type RunPageState = RunSnapshot & {
  run: LiveRun;
  detail: RunDetailNow;
  /** The occurrence that is looked at, and what the log tells of it. */
  selected: string | null;
  selectedView: StepView | undefined;
  select: (occurrence: string | null) => void;
  /** The frame that the toolbar steers; it changes only when a person changes it, or when it ended. */
  frame: string | null;
  selectFrame: (frame: string) => void;
  /** The stop of that frame. */
  stop: StopInfo | null;
  /** Say something to the debugger; false when it was refused, which is told in passing. */
  act: <V extends DebugVerb>(verb: V, body: DebugVerbs[V]) => Promise<boolean>;
  toggleBreakpoint: (step: StepInfo) => void;
  editBreakpoint: (request: BreakpointRequest, id?: number) => void;
  /** Ask first, then act. */
  confirm: (asking: Confirmation) => void;
  askToCancel: () => void;
  /** Ask how to answer the tool call that the frame is paused at. */
  answerCall: (how: CallAnswer) => void;
  /** Go back one step of the frame, or return from there; what is more than a step, or loses files, is asked first. */
  stepBack: () => void;
  stepForward: () => void;
  panels: Panels;
  show: (panels: Partial<Panels>) => void;
  shells: readonly Shell[];
  openShell: (mode: Shell["mode"]) => void;
  endShell: (id: number) => void;
  closeShell: (id: number) => void;
  isLive: boolean;
  /** The user may only look: what changes the run is not drawn. */
  isViewer: boolean;
};

export type RunPageReader = { subscribe: (listener: () => void) => () => void; state: () => RunPageState };

export const RunContext = createContext<RunPageReader | null>(null);

/** The named parts of the page's state; the component is drawn again when one of them is another, and not else. */
export function useRun<Key extends keyof RunPageState>(...keys: Key[]): Pick<RunPageState, Key> {
  const store = useStore();
  const kept = useRef<RunPageState | null>(null);
  return useSyncExternalStore(store.subscribe, () => {
    const before = kept.current;
    const now = store.state();
    if (before === null || keys.some((key) => before[key] !== now[key])) kept.current = now;
    return kept.current ?? now;
  });
}

/** One thing that can be told from the page's state, and that `===` compares. */
export function useRunValue<Value>(tell: (page: RunPageState) => Value): Value {
  const store = useStore();
  return useSyncExternalStore(store.subscribe, () => tell(store.state()));
}

function useStore(): RunPageReader {
  const store = useContext(RunContext);
  if (!store) throw new Error("this is for what a run page shows");
  return store;
}

/** The step that an occurrence is one of; of a call, the one that makes it. Until more is known of an injected one, it is the step next to it. */
export function stepOf(detail: RunDetailNow, path: string): StepInfo | undefined {
  const known = stepsByPath(detail);
  return known.get(path) ?? known.get(plannedPath(path));
}

/** A step by its title, or a call by what it is: "shell call 3 of fix". The path is empty at the end of a run. */
export function titleOfPlace(detail: RunDetailNow, path: string, call?: StopInfo["call"]): string {
  const number = callOf(path);
  const title = stepOf(detail, path)?.title ?? (hostOf(path) || "the end of the run");
  return number === null ? title : `${nameOfCall(number, call)} of ${title}`;
}

const byPath = new WeakMap<RunDetailNow, Map<string, StepInfo>>();

function stepsByPath(detail: RunDetailNow): Map<string, StepInfo> {
  const known = byPath.get(detail);
  if (known) return known;
  const made = new Map([...detail.flow_info.steps, ...(detail.injected ?? [])].map((step) => [step.path, step]));
  byPath.set(detail, made);
  return made;
}

/** The place of the next shell: the stop, else the selected step if it runs, else one that does. Null if there is none. */
export function shellPlaceOf(page: Pick<RunPageState, "stop" | "view" | "detail" | "selected">): ShellPlace | null {
  if (page.stop) return { stop: page.stop.id, step: hostOf(page.stop.step) };
  const running = [...page.view.steps.values()].filter(
    (step) => step.status === "running" && !hasSteps(page.detail, step.step),
  );
  const step = running.find((each) => each.occurrence === page.selected) ?? running.at(-1);
  return step ? { stop: null, step: step.occurrence } : null;
}

/** Whether a step of the run is a fix loop. */
export function hasFix({ flow_info }: RunDetailNow): boolean {
  return flow_info.steps.some((step) => step.kind === "fix");
}

/** Whether other steps are inside a step, which then runs no command itself. */
export function hasSteps(detail: RunDetailNow, path: string): boolean {
  return detail.flow_info.steps.some((step) => step.parent === path);
}
