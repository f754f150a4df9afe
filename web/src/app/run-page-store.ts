import { ApiError, api } from "@/api/client";
import { type LiveRun, liveRun, type RunSnapshot } from "@/api/live-run";
import {
  type CallAnswer,
  type Confirmation,
  type Panels,
  type RunDetailNow,
  type RunPageState,
  type Shell,
  shellPlaceOf,
  stepOf,
} from "@/api/run-context";
import type {
  BreakpointInfo,
  BreakpointRequest,
  DebugVerb,
  DebugVerbs,
  InjectedInfo,
  RunDetail,
  StepInfo,
  StopInfo,
  WayInfo,
} from "@/api/types";
import { callOf, hostOf, nextAttempt } from "@/core/addresses";
import { isForCalls } from "@/core/breakpoints";
import type { StepView } from "@/core/run-view";
import { hasGivenUp, isEnded } from "@/core/status";
import { RECORDS_SHELLS, readSetting, writeSetting } from "@/ui/settings";
import { toast } from "@/ui/toast";

export type Editing = { request: BreakpointRequest; id?: number } | null;
export type Answering = { how: CallAnswer; stop: StopInfo } | null;

/** What a run page knows besides the run itself: the selection, the steered frame, and what it has to ask a person. */
export class RunPageStore {
  readonly run: LiveRun;
  #detail: RunDetail;
  #now: { injected: readonly InjectedInfo[]; from: RunDetail; detail: RunDetailNow };
  #parents: ReadonlySet<string | null>;
  #chosen: string | null = null;
  #byDefault: string | null = null;
  #steering: Steering = { frame: null, after: 0 };
  #lastStop: number | null = null;
  #asking: Confirmation | null = null;
  #editing: Editing = null;
  #answering: Answering = null;
  #hasShownAgent = false;
  #hasShownFix = false;
  #panels: Panels;
  #isNew: boolean; // the page was not just loaded again
  #shells: readonly Shell[] = [];
  #nextShell = 1;
  #isViewer = false;
  #toggling = Promise.resolve();
  #state: RunPageState;
  #listeners = new Set<() => void>();
  #stopListening: (() => void) | null = null;

  constructor(detail: RunDetail) {
    this.run = liveRun(detail.id, detail.last_event, detail.carried_over ?? 0);
    this.#detail = detail;
    this.#now = { injected: [], from: detail, detail };
    this.#parents = new Set(detail.flow_info.steps.map((step) => step.parent));
    const last = readLastPanels();
    this.#panels = last !== null && last.flow === detail.flow ? last.panels : FIRST_PANELS;
    this.#isNew = last?.run !== detail.id;
    this.#state = this.#derive();
  }

  state = (): RunPageState => this.#state;
  asking = (): Confirmation | null => this.#asking;
  editing = (): Editing => this.#editing;
  answering = (): Answering => this.#answering;

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) {
      this.#stopListening = this.run.subscribe(this.#update);
      this.#state = this.#derive();
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stopListening?.();
    };
  };

  takeDetail(detail: RunDetail): void {
    if (detail === this.#detail) return;
    this.#detail = detail;
    this.#update();
  }

  takeRole(isViewer: boolean): void {
    if (isViewer === this.#isViewer) return;
    this.#isViewer = isViewer;
    this.#update();
  }

  #update = (): void => {
    this.#state = this.#derive();
    for (const listener of this.#listeners) listener();
  };

  /** All of the state at once, so that a stop, its frame and its step are drawn together. */
  #derive(): RunPageState {
    const now = this.run.snapshot();
    const frame = steeredFrame(now, this.#steering);
    const stop = now.stops.find((each) => each.frame === frame) ?? null;
    if (stop && frame !== this.#steering.frame) this.#steering = { frame, after: null }; // it is steered from now on
    if (stop && stop.id !== this.#lastStop) this.#chosen = hostOf(stop.occurrence); // the same stop does not select it again
    if (stop && this.#lastStop === null && this.#isNew) this.#panels = panelsAtStop(this.#panels);
    if (stop && callOf(stop.occurrence) !== null) this.#showAgent();
    if (stop && hasGivenUp(stop.reasons)) this.#showFix();
    this.#lastStop = stop?.id ?? this.#lastStop;
    this.#byDefault = this.#chosen === null ? defaultSelection(now, this.#parents, this.#byDefault) : null;
    const selected = this.#chosen ?? this.#byDefault;
    return {
      ...now,
      ...this.#acts,
      run: this.run,
      detail: this.#detailNow(now.debug?.injected),
      selected,
      selectedView: selected === null ? undefined : now.view.steps.get(selected),
      frame,
      stop,
      panels: this.#panels,
      shells: this.#shells,
      isLive: !isEnded(now.status) && !isEnded(this.#detail.status),
      isViewer: this.#isViewer,
    };
  }

  /** The first stop at a tool call shows the agent, where the step was shown. */
  #showAgent(): void {
    if (!this.#hasShownAgent && this.#panels.side === "step") this.#panels = { ...this.#panels, side: "agent" };
    this.#hasShownAgent = true;
  }

  /** The first time that a fix loop gave up shows the loop; a page that is loaded again shows what it did. */
  #showFix(): void {
    const wasThere = !this.#isNew && this.#lastStop === null;
    if (!this.#hasShownFix && !wasThere) this.#panels = { ...this.#panels, area: "flow", view: "fix" };
    this.#hasShownFix = true;
  }

  #detailNow(injected: readonly InjectedInfo[] | undefined): RunDetailNow {
    if (!injected?.length) return this.#detail;
    if (this.#now.injected !== injected || this.#now.from !== this.#detail) {
      const steps = injected.flatMap((each) => [each.step, ...each.steps]);
      this.#now = { injected, from: this.#detail, detail: { ...this.#detail, injected: steps } };
    }
    return this.#now.detail;
  }

  act = async <V extends DebugVerb>(verb: V, body: DebugVerbs[V]): Promise<boolean> => {
    try {
      if (LETS_GO.has(verb)) this.#steering = { frame: this.#steering.frame, after: lastStop(this.run) };
      const chosen = this.#state.stop?.occurrence === this.#chosen ? this.#chosen : null;
      await this.run.command(verb, body);
      if (verb === "retry" && chosen !== null && this.#chosen === chosen) this.#acts.select(nextAttempt(chosen));
      return true;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.asksForExternal) this.#askForExternal(verb, body, error.message);
      else if (error.isStale) toast("Someone else already resumed this frame. Your command was not applied.", "bad");
      else toast(error.message, "bad");
      return false;
    }
  };

  toggleBreakpoint = (step: StepInfo): void => {
    if (!this.#state.isLive) {
      toast("The run has ended. Re-run it to use breakpoints.");
      return;
    }
    const tell = (error: Error) => toast(error.message, "bad");
    this.#toggling = this.#toggling.then(() => this.#toggle(step)).catch(tell); // twice is as it was
  };

  async #toggle(step: StepInfo): Promise<void> {
    const own = this.run.snapshot().breakpoints.filter((each) => isAt(each, step));
    if (own.length === 0) await api.addBreakpoint(this.run.id, { step: step.path });
    else await Promise.all(own.map((each) => api.removeBreakpoint(this.run.id, each.id)));
    await this.run.refresh();
  }

  saveBreakpoint = async (request: BreakpointRequest): Promise<string | null> => {
    try {
      if (this.#editing?.id === undefined) await api.addBreakpoint(this.run.id, request);
      else await api.changeBreakpoint(this.run.id, this.#editing.id, request);
      void this.run.refresh();
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  };

  closeEditing = (): void => this.#edit(null);
  closeAnswering = (): void => this.#answer(null);

  answer = (isAgreed: boolean): void => {
    const asking = this.#asking;
    this.#asking = null;
    this.#update();
    if (isAgreed) asking?.onConfirm();
  };

  #askForExternal(verb: DebugVerb, body: object, why: string): void {
    this.#acts.confirm({
      title: "This cannot be undone",
      text: why,
      action: "Continue anyway",
      onConfirm: () => void this.act(verb, { ...body, external: true } as DebugVerbs[DebugVerb]),
    });
  }

  #titleOf(step: string): string {
    return stepOf(this.#state.detail, step)?.title ?? (step || "the end of the run");
  }

  async #cancel(): Promise<void> {
    try {
      await api.cancel(this.run.id);
      toast("Cancelling… cleanup steps are running.");
    } catch (error) {
      toast((error as Error).message, "bad");
    }
  }

  #edit(editing: Editing): void {
    this.#editing = editing;
    this.#update();
  }

  #answer(answering: Answering): void {
    this.#answering = answering;
    this.#update();
  }

  #acts = {
    act: this.act,
    toggleBreakpoint: this.toggleBreakpoint,
    select: (occurrence: string | null): void => {
      this.#chosen = occurrence;
      this.#update();
    },
    selectFrame: (frame: string): void => {
      this.#steering = { frame, after: null };
      this.#update();
    },
    editBreakpoint: (request: BreakpointRequest, id?: number): void => this.#edit({ request, id }),
    confirm: (asking: Confirmation): void => {
      this.#asking = asking;
      this.#update();
    },
    answerCall: (how: CallAnswer): void => {
      const { stop } = this.#state;
      if (stop?.call) this.#answer({ how, stop });
    },
    askToCancel: (): void =>
      this.#acts.confirm({
        title: "Cancel this run?",
        text: "All frames will be cancelled; cleanup steps still run. This cannot be undone.",
        action: "Cancel run",
        dismiss: "Keep running",
        onConfirm: () => void this.#cancel(),
      }),
    stepBack: (): void => {
      const { stop } = this.#state;
      if (!stop?.back) return;
      const { back } = stop;
      const steps = back.steps === 1 ? "One step will be undone" : `${back.steps} steps will be undone`;
      const go = () => void this.act("step", { stop: stop.id, kind: "back" });
      if (back.steps <= 1 && back.restores_files) go();
      else
        this.#acts.confirm({
          title: `Step back to ${this.#titleOf(back.step)}?`,
          text: `${steps}. ${filesText(back)} You can undo this until another step has finished.`,
          action: "Step back",
          onConfirm: go,
        });
    },
    stepForward: (): void => {
      const { stop } = this.#state;
      if (!stop?.forward) return;
      const { forward } = stop;
      const go = () => void this.act("forward", { stop: stop.id });
      if (forward.restores_files) go();
      else
        this.#acts.confirm({
          title: `Return to ${this.#titleOf(forward.step)}?`,
          text: `This restores the steps that were undone. ${filesText(forward)}`,
          action: "Return",
          onConfirm: go,
        });
    },
    show: (panels: Partial<Panels>): void => {
      const area = panels.dock ? "output" : panels.side ? "step" : panels.view ? "flow" : this.#panels.area;
      this.#panels = { ...this.#panels, area, ...panels };
      writeLastPanels({ run: this.#detail.id, flow: this.#detail.flow, panels: this.#panels });
      this.#update();
    },
    openShell: (mode: Shell["mode"]): void => {
      const place = shellPlaceOf(this.#state);
      if (!place) return;
      const title = mode === "shell" ? place.step : `${place.step} (read-only)`;
      const isRecorded = readSetting(RECORDS_SHELLS, false);
      const shell = { id: this.#nextShell++, place, title, mode, isRecorded, isEnded: false };
      this.#shells = [...this.#shells, shell];
      this.#acts.show({ dock: "shell" });
    },
    endShell: (id: number): void => {
      this.#shells = this.#shells.map((each) => (each.id === id ? { ...each, isEnded: true } : each));
      this.#update();
    },
    closeShell: (id: number): void => {
      this.#shells = this.#shells.filter((each) => each.id !== id);
      this.#update();
    },
  };
}

function filesText({ restores_files }: WayInfo): string {
  return restores_files
    ? "Workspace files will be restored."
    : "Files will not be restored: this workspace has no snapshots.";
}

const FIRST_PANELS: Panels = { area: "flow", view: "graph", side: "step", dock: "log" };

/** The panels of the run that this tab showed last, for when it is loaded again, or another run of the flow is. */
type LastPanels = { run: string; flow: string; panels: Panels };

function readLastPanels(): LastPanels | null {
  return readSetting<LastPanels | null>("panels", null, "tab");
}

function writeLastPanels(last: LastPanels): void {
  writeSetting("panels", last, "tab");
}

/** The first stop of a page is shown where it is, and not in a panel that another run was looked at in. */
function panelsAtStop(panels: Panels): Panels {
  const showsSteps = ["graph", "list", "source"].includes(panels.view);
  return { ...FIRST_PANELS, view: showsSteps ? panels.view : "graph" };
}

function isAt(breakpoint: BreakpointInfo, step: StepInfo): boolean {
  const { request, paths } = breakpoint;
  if (isForCalls(request)) return false;
  const isNamed = request.step === step.path || (step.id !== null && request.step === step.id) || Boolean(request.line);
  return isNamed && paths.includes(step.path) && request.position !== "error";
}

/** The frame that is steered, and the last stop there was when the user let it go; null before that. */
type Steering = { frame: string | null; after: number | null };

const LETS_GO = new Set<DebugVerb>([
  "continue",
  "step",
  "skip",
  "retry",
  "decide",
  "force",
  "rewind",
  "forward",
  "restart",
  "goto",
]);

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

/** What is looked at before the user chooses: the first failure, else what runs now, for as long as it does. */
function defaultSelection(now: RunSnapshot, parents: ReadonlySet<string | null>, last: string | null): string | null {
  const isLeaf = (step: StepView) => !parents.has(step.step);
  const steps = [...now.view.steps.values()];
  const failed = steps.find((step) => step.outcome?.error && !step.is_retried && isLeaf(step));
  if (!failed && last !== null && now.view.steps.get(last)?.status === "running") return last;
  const running = steps.findLast((step) => step.status === "running" && isLeaf(step));
  return (failed ?? running ?? steps.find(isLeaf))?.occurrence ?? null;
}
