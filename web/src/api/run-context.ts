/** The run that a page shows, what is selected in it, and how to act on it: for every feature of the page. */

import { createContext, useContext, useRef, useSyncExternalStore } from "react";
import type { LiveRun, RunSnapshot } from "@/api/live-run";
import type { BreakpointRequest, DebugVerb, DebugVerbs, RunDetail, StepInfo, StopInfo } from "@/api/types";
import type { StepView } from "@/core/run-view";

/** Which panel is shown in each area of the page; `area` is the one that a narrow screen shows. */
export type Panels = {
  area: "flow" | "step" | "output";
  view: "graph" | "list" | "source" | "timing" | "tests" | "artifacts";
  side: "step" | "variables" | "watch" | "frames" | "breakpoints" | "inject" | "context";
  dock: "log" | "console" | "history" | "shell";
};

/** A shell that was opened on this page, in the place of a stop. */
export type Shell = {
  id: number;
  stop: number;
  title: string;
  mode: "shell" | "sidecar";
  isRecorded: boolean;
  isEnded: boolean;
};

/** What to ask before something is done that throws work away. */
export type Confirmation = { title: string; text: string; action: string; dismiss?: string; onConfirm: () => void };

export type RunPageState = RunSnapshot & {
  run: LiveRun;
  detail: RunDetail;
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
  panels: Panels;
  show: (panels: Partial<Panels>) => void;
  shells: readonly Shell[];
  openShell: (mode: Shell["mode"]) => void;
  endShell: (id: number) => void;
  closeShell: (id: number) => void;
  isLive: boolean;
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

/** The step of the flow that an occurrence is one of; an injected one is found by its host. */
export function stepOf(detail: RunDetail, path: string): StepInfo | undefined {
  const host = path.split("+")[0] ?? path;
  return stepsByPath(detail).get(host);
}

const byPath = new WeakMap<RunDetail, Map<string, StepInfo>>();

function stepsByPath(detail: RunDetail): Map<string, StepInfo> {
  const known = byPath.get(detail);
  if (known) return known;
  const made = new Map(detail.flow_info.steps.map((step) => [step.path, step]));
  byPath.set(detail, made);
  return made;
}
