/** The state of a run: a fold over its events, and nothing else. The same fold as `events/view.py`. */

import { AgentView } from "@/core/agent-view";
import { type Clock, endClock, goOn, newClock, passTo, pausedIn, setPaused } from "@/core/durations";
import type { Outcome, RewindUndone, Rewound, RunEvent, StepInjected, StepStatus, Stopped } from "@/core/events";
import type { FixEvent } from "@/core/fix-view";

/** One occurrence as the log tells it. Replaced, never changed, so that `===` tells whether it is the same. */
export type StepView = {
  readonly occurrence: string;
  readonly step: string;
  readonly frame: string;
  readonly status: StepStatus;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly outcome: Outcome | null;
  readonly is_retried: boolean;
  readonly started_event: number;
  readonly ended_event: number;
  readonly clock: Clock;
};

export type FrameState = "running" | "pausing" | "paused" | "done";

export type FrameView = {
  readonly id: string;
  readonly name: string;
  readonly parent: string | null;
  /** A frame is paused, too, when all that it waits for is; `own_state` is without regard to that. */
  readonly state: FrameState;
  readonly own_state: FrameState;
  readonly ended_because: string | null;
  readonly opener: string | null;
  readonly clock: Clock;
};

export type RunStatus = "pending" | "running" | "passed" | "failed" | "cancelled" | "timed_out" | "skipped";

type Undone = {
  event: Rewound | RewindUndone;
  steps: StepView[];
  agents: [string, AgentView][];
  fixes: FixEvent[];
  opened: Opened;
};
type Opened = Map<string, { number: number; parent: string | null }>;

const INTERVENTIONS = new Set<string>([
  "debug.scope_edited",
  "debug.config_overridden",
  "debug.outcome_forced",
  "debug.frame_cancelled",
  "debug.step_stopped",
  "debug.step_decided",
  "debug.step_injected",
  "debug.shell_opened",
  "debug.rewound",
  "debug.rewind_undone",
]);

/**
 * A run as its log tells it. `apply` takes the next event; unknown kinds change nothing but the count. The first
 * `carried_over` events are those of another run.
 */
export class RunView {
  last_event = 0;
  plan = "";
  status: RunStatus = "pending";
  outcome: Outcome | null = null;
  started_at: number | null = null;
  ended_at: number | null = null;
  clock: Clock | null = null; // of the run
  last_at = 0; // when the last event was
  steps = new Map<string, StepView>();
  frames = new Map<string, FrameView>();
  stops = new Map<number, Stopped>();
  breakpoints = new Map<number, Record<string, unknown> & { id: number; hit_count: number }>();
  watches: string[] = [];
  interventions: RunEvent[] = [];
  agents = new Map<string, AgentView>(); // by the occurrence of their step
  fixes = new Map<string, readonly FixEvent[]>(); // by the occurrence of the fix step, what counts; replaced, never changed
  is_muted = false;
  is_detached = false;

  /** Changes when a frame, a turn, an attempt or an injected step came or went: what a layout has to look at. */
  shape = 0;
  /** Changes with every frame that came, went or changed. */
  frameChanges = 0;
  /** How often a step ended; how often a value or a config was edited at a stop, or an edit undone. */
  ended = 0;
  edited = 0;

  #opened: Opened = new Map();
  #framesBefore = new Map<string, FrameView>(); // at the last start, until each is opened again
  #uninjected = new Set<string>(); // the paths of injected steps that were removed before they ran
  #turns = new Set<string>();
  #running = new Map<string, string[]>(); // by frame, its open steps from the outermost
  #heldBefore = new Map<string, number>(); // seconds that each occurrence was paused before it
  #isOwn = false; // whether the events that follow are those of this run
  #hasPaused = false;
  #waitingFrames = new Set<string | null>(); // while anything is paused: those at a stop, or with frames
  #undone = new Map<number, Undone>(); // by the number of each rewind

  constructor(readonly carried_over = 0) {}

  apply(event: RunEvent): void {
    const lastAt = this.last_at;
    this.last_event = event.number;
    this.last_at = event.at;
    if (isIntervention(event)) this.interventions.push(event);
    switch (event.kind) {
      case "run.started":
        this.#start(event, lastAt);
        break;
      case "run.ended":
        this.status = event.outcome.status as RunStatus;
        this.outcome = event.outcome;
        this.ended_at = event.at;
        this.#changeClocks((clock) => endClock(clock, event.at));
        break;
      case "frame.opened": {
        if (!this.#opened.has(event.frame)) {
          this.#opened.set(event.frame, { number: event.number, parent: event.parent });
        }
        const before = this.#framesBefore.get(event.frame);
        const state = this.#firstState(event.frame, event.parent);
        const clock = goOn(before?.clock ?? newClock(event.at), event.at);
        this.frames.set(event.frame, {
          id: event.frame,
          name: event.name,
          parent: event.parent,
          state: clock.is_paused ? "paused" : state,
          own_state: state,
          ended_because: null,
          opener: event.step,
          clock,
        });
        this.frameChanges++;
        this.shape++;
        break;
      }
      case "frame.ended":
        this.#changeFrame(event.frame, { own_state: "done", ended_because: event.reason });
        this.#changeFrameClock(event.frame, (clock) => endClock(clock, event.at));
        break;
      case "step.started":
        this.#startStep(event.occurrence, event.step, event.frame, event.at, event.number);
        this.#running.set(event.frame, [
          ...this.#openSteps(event.frame).filter((each) => each !== event.occurrence),
          event.occurrence,
        ]);
        break;
      case "step.finished":
        this.#finishStep(event);
        this.#running.set(
          event.frame,
          this.#openSteps(event.frame).filter((each) => each !== event.occurrence),
        );
        break;
      case "step.noted":
        if (event.note.startsWith("agent.")) this.#agentOf(event.occurrence).apply(event);
        else if (event.note.startsWith("fix.")) this.#noteFix(event);
        break;
      case "debug.step_decided":
        this.#noteFix(event);
        break;
      case "debug.outcome_forced":
        if (!event.occurrence.includes("/")) this.#finishStep(event); // else it is that of a call inside a step
        break;
      case "step.retried": {
        const step = this.steps.get(event.occurrence);
        if (step) this.steps.set(event.occurrence, { ...step, is_retried: true });
        break;
      }
      case "step.interrupted": {
        const step = this.steps.get(event.occurrence);
        if (step && step.outcome === null) this.steps.set(event.occurrence, { ...step, status: "interrupted" });
        break;
      }
      case "debug.rewound":
        this.#undone.set(event.number, this.#rewind(event));
        break;
      case "debug.rewind_undone":
        this.#undoRewind(event);
        this.#rewind(event);
        break;
      default:
        this.#applyDebugger(event);
    }
    if ((this.stops.size > 0 || this.#hasPaused) && this.#canChangePaused(event)) this.#setPaused(event.at);
  }

  /** Begin the run, or go on with it in another process. */
  #start(event: Extract<RunEvent, { kind: "run.started" }>, lastAt: number): void {
    this.plan = event.plan;
    this.status = "running";
    this.outcome = null;
    const isFirst = !this.#isOwn && event.number > this.carried_over;
    this.#isOwn ||= isFirst;
    this.started_at ??= event.at;
    this.clock ??= newClock(event.at);
    const leftAt = Math.max(lastAt, Math.min(event.left_at ?? lastAt, event.at));
    this.#changeClocks((clock) => goOn(passTo(clock, leftAt), event.at));
    if (isFirst && this.carried_over > 0) this.#beginAgain(event.at);
    for (const frame of this.frames.values()) this.#framesBefore.set(frame.id, frame); // of a process that is gone
    this.frames = new Map();
    this.frameChanges++;
    this.shape++;
  }

  /** What another run had begun begins in this one now. */
  #beginAgain(at: number): void {
    this.started_at = at;
    this.#changeClocks(() => newClock(at));
    for (const name of [...this.#running.values()].flat()) {
      const step = this.steps.get(name);
      if (step) this.steps.set(name, { ...step, started_at: at });
    }
  }

  /** The open steps of a frame, from the outermost. */
  #openSteps(frame: string): string[] {
    return this.#running.get(frame) ?? [];
  }

  /** Change the clock of the run, and those of all frames and steps that are open. */
  #changeClocks(change: (clock: Clock) => Clock): void {
    if (this.clock) this.clock = change(this.clock);
    for (const frame of [...this.frames.values()]) {
      if (frame.own_state !== "done") this.#changeFrameClock(frame.id, change);
    }
    for (const name of [...this.#running.values()].flat()) this.#changeStepClock(name, change);
  }

  #changeFrameClock(id: string, change: (clock: Clock) => Clock): void {
    const frame = this.frames.get(id);
    if (!frame) return;
    const clock = change(frame.clock);
    if (clock !== frame.clock) this.#changeFrame(id, { clock });
  }

  #changeStepClock(occurrence: string, change: (clock: Clock) => Clock): void {
    const step = this.steps.get(occurrence);
    if (!step) return;
    const clock = change(step.clock);
    if (clock === step.clock) return;
    const isOpen = step.status === "running" || step.status === "paused";
    const status = isOpen ? (clock.is_paused ? "paused" : "running") : step.status;
    this.steps.set(occurrence, { ...step, clock, status });
  }

  /** False for a step that starts or ends in a frame that is not waiting: such a frame runs before and after. */
  #canChangePaused(event: RunEvent): boolean {
    if (event.kind === "step.started" || event.kind === "step.finished") return this.#waitingFrames.has(event.frame);
    return event.kind !== "debug.all_stopped"; // which only says what the stops say
  }

  /** Let the clocks, and with them the states, follow the stops. */
  #setPaused(at: number): void {
    const atStop = new Set([...this.stops.values()].map((stop) => stop.frame));
    const live = [...this.frames.values()]
      .filter((frame) => frame.own_state !== "done")
      .map(({ id, parent, opener }) => ({
        id,
        parent,
        opener,
        steps: this.#openSteps(id),
        isAtStop: atStop.has(id),
      }));
    const { frames, steps } = pausedIn(live);
    for (const frame of live) {
      this.#changeFrameClock(frame.id, (clock) => setPaused(clock, frames.has(frame.id), at));
      for (const name of frame.steps) this.#changeStepClock(name, (clock) => setPaused(clock, steps.has(name), at));
    }
    const isPaused = live.some(({ id, parent }) => parent === null && frames.has(id));
    if (this.clock) this.clock = setPaused(this.clock, isPaused, at);
    this.#hasPaused = frames.size > 0 || steps.size > 0;
    this.#waitingFrames = new Set([...atStop, ...live.map(({ parent }) => parent)]);
  }

  #applyDebugger(event: RunEvent): void {
    switch (event.kind) {
      case "debug.stopped":
        this.stops = new Map(this.stops).set(event.stop, event);
        this.#changeFrame(event.frame, { own_state: "paused" });
        if (event.position !== "before")
          this.#changeStepClock(event.occurrence, (clock) => goOn(passTo(clock, event.at), event.at, true));
        break;
      case "debug.resumed":
      case "debug.stop_ended":
        this.#endStop(event.stop, event.at);
        if (this.frames.get(event.frame)?.own_state === "paused") {
          this.#changeFrame(event.frame, { own_state: "running" });
        }
        break;
      case "debug.pause_asked":
        this.#changeFrames("running", "pausing", event.frame);
        break;
      case "debug.pause_cancelled":
        this.#changeFrames("pausing", "running", event.frame);
        break;
      case "debug.breakpoint_set":
        this.breakpoints = new Map(this.breakpoints).set(event.breakpoint.id, { hit_count: 0, ...event.breakpoint });
        break;
      case "debug.breakpoint_removed":
        this.breakpoints = new Map(this.breakpoints);
        this.breakpoints.delete(event.breakpoint);
        break;
      case "debug.breakpoints_muted":
        this.is_muted = event.muted;
        break;
      case "debug.breakpoint_hit": {
        const known = this.breakpoints.get(event.breakpoint);
        if (known) {
          this.breakpoints = new Map(this.breakpoints).set(event.breakpoint, { ...known, hit_count: event.hits });
        }
        break;
      }
      case "debug.scope_edited":
      case "debug.edit_undone":
      case "debug.config_overridden":
        this.edited++;
        break;
      case "debug.watches_changed":
        this.watches = event.watches;
        break;
      case "debug.step_uninjected":
        this.#uninjected.add(event.step);
        this.shape++;
        break;
      case "debug.step_injected":
        this.shape++;
        break;
      case "debug.all_continued":
      case "debug.detached":
      case "debug.aborted":
        this.is_detached ||= event.kind === "debug.detached";
        this.#changeFrames("pausing", "running", null);
        break;
      case "debug.session_opened":
        this.breakpoints = new Map();
        this.watches = [];
        this.is_muted = false;
        this.is_detached = false;
        this.#changeFrames("pausing", "running", null);
        break;
    }
  }

  /** A frame that is opened again after a restart is as it was; a new one pauses with the one that opened it. */
  #firstState(id: string, parent: string | null): FrameState {
    const before = this.#framesBefore.get(id);
    this.#framesBefore.delete(id);
    if ([...this.stops.values()].some((stop) => stop.frame === id)) return "paused";
    const like = before ?? (parent === null ? undefined : this.frames.get(parent));
    return like?.own_state === "pausing" ? "pausing" : "running";
  }

  #endStop(number: number, at: number): void {
    const stop = this.stops.get(number);
    this.stops = new Map(this.stops);
    this.stops.delete(number);
    if (!stop) return;
    if (stop.position === "before") {
      this.#heldBefore.set(stop.occurrence, (this.#heldBefore.get(stop.occurrence) ?? 0) + at - stop.at);
    } else if (this.steps.get(stop.occurrence)?.outcome) {
      this.#changeStepClock(stop.occurrence, (clock) => endClock(clock, at));
    }
  }

  /** From one state to another, those of the last start that were not opened again too; `only` names one frame. */
  #changeFrames(from: FrameState, to: FrameState, only: string | null): void {
    this.frameChanges++;
    for (const frames of [this.frames, this.#framesBefore]) {
      for (const frame of [...frames.values()]) {
        if (frame.own_state === from && (only === null || only === frame.id)) {
          frames.set(frame.id, { ...frame, own_state: to, state: frame.clock.is_paused ? "paused" : to });
        }
      }
    }
  }

  get injected(): StepInjected[] {
    return this.interventions
      .filter((event) => event.kind === "debug.step_injected")
      .filter((event) => !this.#uninjected.has(event.step));
  }

  #changeFrame(id: string, change: Partial<FrameView>): void {
    const frame = this.frames.get(id);
    if (!frame) return;
    const changed = { ...frame, ...change };
    const isPaused = changed.clock.is_paused && changed.own_state !== "done";
    this.frames.set(id, { ...changed, state: isPaused ? "paused" : changed.own_state });
    this.frameChanges++;
  }

  #startStep(occurrence: string, step: string, frame: string, at: number, number: number): StepView {
    const before = this.steps.get(occurrence);
    const isAgain = before !== undefined && before.outcome === null; // it was interrupted
    const isOwn = isAgain && before.started_event > this.carried_over;
    const clock = isOwn ? before.clock : newClock(at, this.#heldBefore.get(occurrence) ?? 0);
    const view: StepView = {
      occurrence,
      step,
      frame,
      status: "running",
      started_at: at,
      ended_at: null,
      outcome: null,
      is_retried: false,
      started_event: isAgain ? before.started_event : number,
      ended_event: 0,
      clock: isAgain ? goOn(clock, at) : clock,
    };
    this.steps.set(occurrence, view);
    this.#noteTurns(occurrence);
    return view;
  }

  #agentOf(occurrence: string): AgentView {
    const known = this.agents.get(occurrence) ?? new AgentView();
    this.agents.set(occurrence, known);
    return known;
  }

  #noteFix(event: FixEvent): void {
    this.fixes.set(event.occurrence, [...(this.fixes.get(event.occurrence) ?? []), event]);
  }

  #noteTurns(occurrence: string): void {
    if (!/[[#+]/.test(occurrence)) return;
    for (const match of occurrence.matchAll(/\[\d+\]|#\d+/g)) {
      const turn = occurrence.slice(0, match.index + match[0].length);
      if (this.#turns.has(turn)) continue;
      this.#turns.add(turn);
      this.shape++;
    }
  }

  #finishStep(event: Extract<RunEvent, { kind: "step.finished" | "debug.outcome_forced" }>): void {
    this.ended++;
    const known =
      this.steps.get(event.occurrence) ??
      this.#startStep(event.occurrence, event.step, event.frame, event.at, event.number);
    this.steps.set(event.occurrence, {
      ...known,
      status: event.outcome.status,
      ended_at: event.at,
      outcome: event.outcome,
      ended_event: event.number,
      clock: endClock(known.clock, event.at),
    });
  }

  /** Let what a rewind has undone count again, and what its frames did since then no longer. */
  #undoRewind(event: RewindUndone): void {
    const undone = this.#undone.get(event.undoes);
    if (!undone) return;
    this.#undone.delete(event.undoes);
    this.#rewind({ ...undone.event, at: event.at, after: event.undoes });
    for (const [occurrence, agent] of undone.agents) this.agents.set(occurrence, agent);
    for (const note of undone.fixes) this.#noteFix(note);
    for (const step of undone.steps) {
      const isOpen = step.outcome === null;
      this.steps.set(step.occurrence, isOpen ? { ...step, clock: goOn(step.clock, event.at) } : step);
      if (isOpen) this.#running.set(step.frame, [...this.#openSteps(step.frame), step.occurrence]);
    }
    this.steps = new Map([...this.steps].sort(([, one], [, other]) => one.started_event - other.started_event));
    this.#opened = new Map([...this.#opened, ...undone.opened]);
  }

  /** Undo what does not count any more; gives it as it was. */
  #rewind(event: Rewound | RewindUndone): Undone {
    const undone: Undone = { event, steps: [], agents: [], fixes: [], opened: new Map(this.#opened) };
    const cut = framesAfter(this.#opened, event.point_frame, event.frame, event.after);
    for (const step of [...this.steps.values()]) {
      if (cut.has(step.frame) && Math.max(step.started_event, step.ended_event) > event.after) undone.steps.push(step);
      if (cut.has(step.frame) && step.started_event > event.after) {
        const agent = this.agents.get(step.occurrence);
        if (agent) undone.agents.push([step.occurrence, agent]);
        this.agents.delete(step.occurrence);
        this.steps.delete(step.occurrence);
      } else if (step.ended_event > event.after && (cut.has(step.frame) || step.status === "cancelled")) {
        const again = { status: "running", ended_at: null, outcome: null, is_retried: false } as const;
        this.steps.set(step.occurrence, { ...step, ...again, clock: goOn(step.clock, event.at) });
        this.#running.set(step.frame, [...this.#openSteps(step.frame), step.occurrence]);
      }
    }
    for (const [occurrence, notes] of this.fixes) {
      const isUndone = (note: FixEvent) => cut.has(note.frame) && note.number > event.after;
      undone.fixes.push(...notes.filter(isUndone));
      this.fixes.set(
        occurrence,
        notes.filter((note) => !isUndone(note)),
      );
    }
    for (const [frame, names] of this.#running) {
      const open = [...new Set(names)].flatMap((name) => this.steps.get(name) ?? []).filter((step) => !step.outcome);
      open.sort((one, other) => one.started_event - other.started_event);
      this.#running.set(
        frame,
        open.map((step) => step.occurrence),
      );
    }
    this.frameChanges++;
    const under = new Set([event.frame]);
    for (const [name, { number, parent }] of this.#opened) {
      if (parent === null || !under.has(parent)) continue;
      under.add(name);
      if (number <= (event.since ?? 0) || name === event.frame) continue;
      this.frames.delete(name); // it is opened again as the frame comes to it
      this.#framesBefore.delete(name);
    }
    for (const [name, known] of this.#opened) {
      if (known.number > event.after && cut.has(name) && name !== event.frame) this.#opened.delete(name);
    }
    this.#turns.clear();
    for (const occurrence of this.steps.keys()) this.#noteTurns(occurrence);
    this.shape++;
    return undone;
  }
}

/** The frames in which all that came after event number `after` is undone by going back to that point of `frame`. */
function framesAfter(opened: Opened, frame: string, top: string, after: number): Set<string> {
  const cut = new Set([top]);
  let ancestor: string | null = frame;
  while (ancestor !== null && ancestor !== top) {
    cut.add(ancestor);
    ancestor = opened.get(ancestor)?.parent ?? null;
  }
  for (const [name, known] of opened) {
    if (known.number > after && known.parent !== null && cut.has(known.parent)) cut.add(name);
  }
  return cut;
}

/** Whether the user intervened with it: a run with one of these did not pass unmodified. */
export function isIntervention(event: RunEvent): boolean {
  return INTERVENTIONS.has(event.kind) || (event.kind === "step.retried" && event.by_hand);
}

export function fold(events: Iterable<RunEvent>, carriedOver = 0): RunView {
  const view = new RunView(carriedOver);
  for (const event of events) view.apply(event);
  return view;
}
