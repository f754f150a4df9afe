/** The state of a run: a fold over its events, and nothing else. The same fold as `events/view.py`. */

import type { Outcome, Rewound, RunEvent, StepInjected, StepStatus, Stopped } from "@/core/events";

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
};

export type FrameState = "running" | "pausing" | "paused" | "done";

export type FrameView = {
  readonly id: string;
  readonly name: string;
  readonly parent: string | null;
  readonly state: FrameState;
  readonly ended_because: string | null;
};

export type RunStatus = "pending" | "running" | "passed" | "failed" | "cancelled" | "timed_out" | "skipped";

type Opened = Map<string, { number: number; parent: string | null }>;

const INTERVENTIONS = new Set<string>([
  "debug.scope_edited",
  "debug.config_overridden",
  "debug.outcome_forced",
  "debug.frame_cancelled",
  "debug.step_stopped",
  "debug.step_injected",
  "debug.shell_opened",
  "debug.rewound",
]);

/** A run as its log tells it. `apply` takes the next event; unknown kinds change nothing but the count. */
export class RunView {
  last_event = 0;
  plan = "";
  status: RunStatus = "pending";
  outcome: Outcome | null = null;
  started_at: number | null = null;
  ended_at: number | null = null;
  steps = new Map<string, StepView>();
  frames = new Map<string, FrameView>();
  stops = new Map<number, Stopped>();
  breakpoints = new Map<number, Record<string, unknown> & { id: number; hit_count: number }>();
  watches: string[] = [];
  interventions: RunEvent[] = [];
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

  apply(event: RunEvent): void {
    this.last_event = event.number;
    if (isIntervention(event)) this.interventions.push(event);
    switch (event.kind) {
      case "run.started":
        this.plan = event.plan;
        this.status = "running";
        this.outcome = null;
        this.started_at ??= event.at;
        for (const frame of this.frames.values()) this.#framesBefore.set(frame.id, frame); // of a process that is gone
        this.frames = new Map();
        this.frameChanges++;
        this.shape++;
        break;
      case "run.ended":
        this.status = event.outcome.status as RunStatus;
        this.outcome = event.outcome;
        this.ended_at = event.at;
        break;
      case "frame.opened": {
        if (!this.#opened.has(event.frame)) {
          this.#opened.set(event.frame, { number: event.number, parent: event.parent });
        }
        const state = this.#firstState(event.frame, event.parent);
        this.frames.set(event.frame, {
          id: event.frame,
          name: event.name,
          parent: event.parent,
          state,
          ended_because: null,
        });
        this.frameChanges++;
        this.shape++;
        break;
      }
      case "frame.ended":
        this.#changeFrame(event.frame, { state: "done", ended_because: event.reason });
        break;
      case "step.started":
        this.#startStep(event.occurrence, event.step, event.frame, event.at, event.number);
        break;
      case "step.finished":
      case "debug.outcome_forced":
        this.#finishStep(event);
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
        this.#rewind(event);
        break;
      default:
        this.#applyDebugger(event);
    }
  }

  #applyDebugger(event: RunEvent): void {
    switch (event.kind) {
      case "debug.stopped":
        this.stops = new Map(this.stops).set(event.stop, event);
        this.#changeFrame(event.frame, { state: "paused" });
        break;
      case "debug.resumed":
      case "debug.stop_ended":
        this.stops = new Map(this.stops);
        this.stops.delete(event.stop);
        if (this.frames.get(event.frame)?.state === "paused") this.#changeFrame(event.frame, { state: "running" });
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
    return like?.state === "pausing" ? "pausing" : "running";
  }

  /** From one state to another, those of the last start that were not opened again too; `only` names one frame. */
  #changeFrames(from: FrameState, to: FrameState, only: string | null): void {
    this.frameChanges++;
    for (const frames of [this.frames, this.#framesBefore]) {
      for (const frame of [...frames.values()]) {
        if (frame.state === from && (only === null || only === frame.id)) frames.set(frame.id, { ...frame, state: to });
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
    this.frames.set(id, { ...frame, ...change });
    this.frameChanges++;
  }

  #startStep(occurrence: string, step: string, frame: string, at: number, number: number): StepView {
    const before = this.steps.get(occurrence);
    const view: StepView = {
      occurrence,
      step,
      frame,
      status: "running",
      started_at: at,
      ended_at: null,
      outcome: null,
      is_retried: false,
      started_event: before && before.outcome === null ? before.started_event : number, // it was interrupted
      ended_event: 0,
    };
    this.steps.set(occurrence, view);
    this.#noteTurns(occurrence);
    return view;
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
    });
  }

  #rewind(event: Rewound): void {
    const cut = framesAfter(this.#opened, event.point_frame, event.frame, event.after);
    for (const step of [...this.steps.values()]) {
      if (cut.has(step.frame) && step.started_event > event.after) {
        this.steps.delete(step.occurrence);
      } else if (step.ended_event > event.after && (cut.has(step.frame) || step.status === "cancelled")) {
        const again = { status: "running", ended_at: null, outcome: null, is_retried: false } as const;
        this.steps.set(step.occurrence, { ...step, ...again });
      }
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

export function fold(events: Iterable<RunEvent>): RunView {
  const view = new RunView();
  for (const event of events) view.apply(event);
  return view;
}
