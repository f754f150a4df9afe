import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { ApiError, api } from "@/api/client";
import type { LiveRun, RunSnapshot } from "@/api/live-run";
import type { RunPageState } from "@/api/run-context";
import type { BreakpointInfo, BreakpointRequest, DebugVerb, DebugVerbs, RunDetail, StepInfo } from "@/api/types";
import type { StepView } from "@/core/run-view";
import { isEnded } from "@/core/status";
import { toast } from "@/ui/toast";

export type Asking = { verb: DebugVerb; body: object; why: string };
export type Editing = { request: BreakpointRequest; id?: number };

/** What a run page knows besides the run itself: the selection, the steered frame, and what it has to ask a person. */
export function useRunPage(run: LiveRun, now: RunSnapshot, detail: RunDetail) {
  const [chosen, select] = useState<string | null>(null);
  const [steering, setSteering] = useState<Steering>({ frame: null, after: 0 });
  const [asking, setAsking] = useState<Asking | null>(null);
  const [editing, setEditing] = useState<Editing | null>(null);
  const isLive = !isEnded(now.view.status) && !isEnded(detail.status);
  const frame = steeredFrame(now, steering);
  const selectFrame = useCallback((chosen: string) => setSteering({ frame: chosen, after: null }), []);
  const stop = now.stops.find((each) => each.frame === frame) ?? null;

  // What the page followed is what is steered from now on.
  useEffect(() => {
    if (frame !== steering.frame && now.stops.some((each) => each.frame === frame)) setSteering({ frame, after: null });
  }, [frame, steering.frame, now.stops]);

  const stopId = stop?.id;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another stop selects its step, the same stop does not again
  useEffect(() => {
    if (stop) select(stop.occurrence);
  }, [stopId]);

  const act = useCallback(
    async <V extends DebugVerb>(verb: V, body: DebugVerbs[V]): Promise<boolean> => {
      try {
        if (LETS_GO.has(verb)) setSteering(({ frame: steered }) => ({ frame: steered, after: lastStop(run) }));
        await run.command(verb, body);
        return true;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.asksForExternal) setAsking({ verb, body, why: error.message });
        else if (error.isStale) toast("Somebody else was quicker: that stop is over, and nothing was changed.", "bad");
        else toast(error.message, "bad");
        return false;
      }
    },
    [run],
  );

  const breakpoints = useMemo(() => now.debug?.breakpoints ?? [], [now.debug]);
  const toggleBreakpoint = useCallback(
    (step: StepInfo) => {
      if (!isLive) {
        toast("The run has ended. Run it again with breakpoints to stop in it.");
        return;
      }
      const own = breakpoints.filter((each) => isAt(each, step));
      const done =
        own.length > 0
          ? Promise.all(own.map((each) => api.removeBreakpoint(run.id, each.id)))
          : api.addBreakpoint(run.id, { step: step.path });
      done.then(run.refresh, (error: Error) => toast(error.message, "bad"));
    },
    [run, breakpoints, isLive],
  );
  const editBreakpoint = useCallback((request: BreakpointRequest, id?: number) => setEditing({ request, id }), []);
  const saveBreakpoint = async (request: BreakpointRequest): Promise<string | null> => {
    try {
      if (editing?.id === undefined) await api.addBreakpoint(run.id, request);
      else await api.changeBreakpoint(run.id, editing.id, request);
      run.refresh();
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  };

  const parents = useMemo(() => new Set(detail.flow_info.steps.map((step) => step.parent)), [detail]);
  const lastDefault = useRef<string | null>(null);
  lastDefault.current = chosen === null ? defaultSelection(now, parents, lastDefault.current) : null;
  const selected = chosen ?? lastDefault.current;
  const state = useMemo<RunPageState>(
    () => ({
      run,
      now,
      detail,
      selected,
      select,
      frame,
      selectFrame,
      stop,
      act,
      breakpoints,
      toggleBreakpoint,
      editBreakpoint,
      isLive,
    }),
    [run, now, detail, selected, frame, selectFrame, stop, act, breakpoints, toggleBreakpoint, editBreakpoint, isLive],
  );
  return {
    state,
    asking,
    answerAsking: (isAgreed: boolean) => {
      if (asking && isAgreed) void act(asking.verb, { ...asking.body, external: true } as DebugVerbs[DebugVerb]);
      setAsking(null);
    },
    editing,
    closeEditing: () => setEditing(null),
    saveBreakpoint,
  };
}

function isAt(breakpoint: BreakpointInfo, step: StepInfo): boolean {
  const { request, paths } = breakpoint;
  const isNamed = request.step === step.path || (step.id !== null && request.step === step.id) || Boolean(request.line);
  return isNamed && paths.includes(step.path) && request.position !== "error";
}

/** The frame that is steered, and the last stop there was when a person let it go; null while nobody did. */
type Steering = { frame: string | null; after: number | null };

const LETS_GO = new Set<DebugVerb>(["continue", "step", "skip", "retry", "force", "rewind", "restart", "goto"]);

function lastStop(run: LiveRun): number {
  return Math.max(0, ...run.snapshot().stops.map((stop) => stop.id));
}

/** The frame that was chosen, as long as it is there. One that was let go and runs gives way to the next stop, never to an old one. */
export function steeredFrame(now: Pick<RunSnapshot, "view" | "stops">, { frame, after }: Steering): string | null {
  const known = frame === null ? undefined : now.view.frames.get(frame);
  const isStopped = now.stops.some((stop) => stop.frame === frame);
  if (known && known.state !== "done") {
    const next = after === null || isStopped ? undefined : now.stops.find((stop) => stop.id > after);
    return next?.frame ?? frame;
  }
  if (now.stops[0]) return now.stops[0].frame;
  const living = [...now.view.frames.values()].find((each) => each.state !== "done");
  return living?.id ?? now.view.frames.keys().next().value ?? null;
}

/** What is looked at while nobody chose: the first failure, else what runs now, for as long as it does. */
function defaultSelection(now: RunSnapshot, parents: ReadonlySet<string | null>, last: string | null): string | null {
  const isLeaf = (step: StepView) => !parents.has(step.step);
  const steps = [...now.view.steps.values()];
  const failed = steps.find((step) => step.outcome?.error && !step.is_retried && isLeaf(step));
  if (!failed && last !== null && now.view.steps.get(last)?.status === "running") return last;
  const running = steps.findLast((step) => step.status === "running" && isLeaf(step));
  return (failed ?? running ?? steps.find(isLeaf))?.occurrence ?? null;
}
