/** The run that a page shows, what is selected in it, and how to act on it: for every feature of the page. */

import { createContext, useContext } from "react";
import type { LiveRun, RunSnapshot } from "@/api/live-run";
import type {
  BreakpointInfo,
  BreakpointRequest,
  DebugVerb,
  DebugVerbs,
  RunDetail,
  StepInfo,
  StopInfo,
} from "@/api/types";

export type RunPageState = {
  run: LiveRun;
  now: RunSnapshot;
  detail: RunDetail;
  /** The occurrence that is looked at. */
  selected: string | null;
  select: (occurrence: string | null) => void;
  /** The frame that the toolbar steers; it changes only when a person changes it, or when it ended. */
  frame: string | null;
  selectFrame: (frame: string) => void;
  /** The stop of that frame. */
  stop: StopInfo | null;
  /** Say something to the debugger; false when it was refused, which is told in passing. */
  act: <V extends DebugVerb>(verb: V, body: DebugVerbs[V]) => Promise<boolean>;
  breakpoints: readonly BreakpointInfo[];
  toggleBreakpoint: (step: StepInfo) => void;
  editBreakpoint: (request: BreakpointRequest, id?: number) => void;
  isLive: boolean;
};

export const RunContext = createContext<RunPageState | null>(null);

export function useRun(): RunPageState {
  const state = useContext(RunContext);
  if (!state) throw new Error("useRun is for what a run page shows");
  return state;
}

/** The step of the flow that an occurrence is one of; an injected one is found by its host. */
export function stepOf(detail: RunDetail, path: string): StepInfo | undefined {
  const host = path.split("+")[0];
  return detail.flow_info.steps.find((step) => step.path === host);
}
