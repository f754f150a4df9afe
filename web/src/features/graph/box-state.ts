import type { BreakpointInfo, StopInfo } from "@/api/types";
import { hostOf } from "@/core/addresses";
import { isForCalls } from "@/core/breakpoints";
import type { Clock } from "@/core/durations";
import type { Box } from "@/core/lanes";
import type { RunView, StepView } from "@/core/run-view";
import { toneOf } from "@/core/status";

export type Mark = "none" | "on" | "conditional" | "log" | "off";

/** What a box shows besides its place. Two that are equal in every field look the same. */
export type BoxState = {
  status: string;
  clock: Clock | null;
  stop: StopInfo | null;
  mark: Mark;
  isSelected: boolean;
  isActive: boolean;
  /** How many tools an agent has called, and whether breakpoints wait for its calls. */
  calls: number;
  hasCallMark: boolean;
};

export type BoxStates = (box: Box) => BoxState;

/** How the breakpoints at a step are shown: the strongest of them. */
export function markOf(breakpoints: readonly BreakpointInfo[]): Mark {
  const on = breakpoints.filter(({ request }) => request.enabled !== false);
  if (breakpoints.length === 0) return "none";
  if (on.length === 0) return "off";
  if (on.some(({ request }) => !request.log && !request.condition && !request.hits)) return "on";
  return on.some(({ request }) => !request.log) ? "conditional" : "log";
}

export function breakpointsByPath(breakpoints: readonly BreakpointInfo[]): Map<string, BreakpointInfo[]> {
  const found = new Map<string, BreakpointInfo[]>();
  for (const breakpoint of breakpoints) {
    if (isForCalls(breakpoint.request)) continue; // the step itself is none of its business
    if (breakpoint.request.position === "error" && !breakpoint.request.step) continue; // it is everywhere
    for (const path of breakpoint.paths) found.set(path, [...(found.get(path) ?? []), breakpoint]);
  }
  return found;
}

type Context = {
  view: RunView;
  stops: readonly StopInfo[];
  activeStop: StopInfo | null;
  breakpoints: readonly BreakpointInfo[];
  selected: string | null;
};

export function boxStates({ view, stops, activeStop, breakpoints, selected }: Context): BoxStates {
  const byPath = breakpointsByPath(breakpoints);
  const byOccurrence = new Map(stops.map((stop) => [hostOf(stop.occurrence), stop]));
  const forCalls = breakpoints.filter(({ request }) => isForCalls(request) && request.enabled !== false);
  let turns: ReadonlyMap<string, string> | undefined; // read when a lane needs it: most runs have none such
  return (box) => {
    const step = view.steps.get(box.occurrence);
    const frame = box.kind === "lane" ? view.frames.get(box.id) : undefined;
    const stop = byOccurrence.get(box.occurrence) ?? null;
    if (box.kind === "lane" && !frame) turns ??= turnStatuses(view.steps.values());
    const status = stop ? "paused" : (step?.status ?? frame?.state ?? turns?.get(box.id) ?? "waiting");
    return {
      status,
      clock: step?.clock ?? null,
      stop,
      mark: box.kind === "lane" ? "none" : markOf(byPath.get(box.path) ?? []),
      isSelected: selected === box.occurrence,
      isActive: stop !== null && stop.id === activeStop?.id,
      calls: view.agents.get(box.occurrence)?.calls.size ?? 0,
      hasCallMark: box.stepKind === "agent" && forCalls.some((each) => isAtCallsOf(each, box.path)),
    };
  };
}

/** Whether a breakpoint for calls is for those of a step: it names the step, or none. */
function isAtCallsOf({ request, paths }: BreakpointInfo, path: string): boolean {
  return paths.includes(path) || !(request.step || request.kind || request.line);
}

/** How each turn stands whose steps run in the frame around it, and so has none of its own: by what is in it. */
export function turnStatuses(steps: Iterable<StepView>): Map<string, string> {
  const found = new Map<string, string>();
  for (const { occurrence, status, is_retried } of steps) {
    const now =
      status === "running" || status === "paused"
        ? "running"
        : toneOf(status) === "failed" && !is_retried
          ? "failed"
          : "passed";
    for (const { index, 0: turn } of occurrence.matchAll(/\[\d+\](?=\.)/g)) {
      const address = occurrence.slice(0, index + turn.length);
      const before = found.get(address);
      if (before === undefined || now === "running" || before === "passed") found.set(address, now);
    }
  }
  return found;
}

export function isSameState(one: BoxState, other: BoxState): boolean {
  return (Object.keys(one) as (keyof BoxState)[]).every((key) => one[key] === other[key]);
}
