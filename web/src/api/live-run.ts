/** A run as it is now: its events followed and folded, and the state of its debugger beside them. */

import { replaceEqualDeep } from "@tanstack/react-query";
import { ApiError, api } from "@/api/client";
import { type Connection, follow, type ServerEvent } from "@/api/sse";
import type { BreakpointInfo, DebugState, DebugVerb, DebugVerbs, EditInfo, StopInfo } from "@/api/types";
import { eventsUrl } from "@/api/url";
import { callOf } from "@/core/addresses";
import type { RunEvent, Stopped, WorkspaceProgress } from "@/core/events";
import { type FrameView, RunView } from "@/core/run-view";
import { hasGivenUp } from "@/core/status";

/** What the page is drawn from. A part is another object only when it has changed, so that `===` tells who has to be drawn. */
export type RunSnapshot = {
  /** The same one, ever growing: `version` changes with it. */
  view: RunView;
  version: number;
  status: RunView["status"];
  frames: readonly FrameView[];
  connection: Connection;
  retryAt: number | null;
  debug: DebugState | null;
  breakpoints: readonly BreakpointInfo[];
  /** What is edited and waits for its step; `edited` changes with every edit, also of what is not in that list. */
  edits: readonly EditInfo[];
  edited: number;
  /** The stops that last, with all that is known of each; what only the server knows comes a moment later. */
  stops: readonly StopInfo[];
  /** How far the files of the workspace are kept, or put back, in words, while that lasts. */
  filesProgress: string | null;
  /** The command that is on its way. */
  pending: DebugVerb | null;
  isLoaded: boolean;
};

type Listener = () => void;
type OnEvent = (event: RunEvent) => void;

const ASKED_AGAIN_AFTER = 1000; // milliseconds
const DRAWN_EVERY = 100; // milliseconds: many steps a second are drawn together, a stop and the end at once

// What may be done at a stop, as `debugger/stops.py` has it: a key that is pressed before the server has told is not lost.
const MOVING = ["continue", "step_into", "step_over", "step_out", "run_to"];
const LOOKING = ["evaluate", "set", "unset", "undo"];
const CHANGING = ["force", "config", "inject", "rewind", "goto"];
const COMPLETED = ["continue", "rewind", "evaluate"];

function verbsAt({ step, occurrence, position, reasons }: Stopped): string[] {
  if (callOf(occurrence) !== null) {
    const changing = position === "before" ? ["skip", "force", "config", "inject"] : ["force"];
    return [...MOVING, ...changing, "rewind", ...LOOKING];
  }
  if (step === "") return reasons.includes("completed") ? COMPLETED : [...COMPLETED, "force", ...LOOKING];
  const deciding = hasGivenUp(reasons) ? ["decide"] : [];
  return [...MOVING, position === "before" ? "skip" : "retry", ...CHANGING, ...LOOKING, ...deciding];
}

/** Where a step can be injected. */
function positionsAt({ occurrence, position }: Stopped): StopInfo["positions"] {
  if (callOf(occurrence) !== null) return position === "before" ? ["before"] : [];
  return position === "before" ? ["before", "after"] : ["after"];
}

export class LiveRun {
  #view: RunView;
  #snapshot: RunSnapshot;
  #listeners = new Set<Listener>();
  #onEvent = new Set<OnEvent>();
  #stopFollowing: (() => void) | null = null;
  #users = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #askTimer: ReturnType<typeof setTimeout> | undefined;
  #asking: Promise<void> | null = null;
  #askingAgain: Promise<void> | null = null;
  #commands = 0; // on their way
  #shown = { event: 0, frames: 0 }; // what of `view` the snapshot was made of

  /** `known` is the last event there was when the page was asked for: what comes up to it is drawn in one go. */
  constructor(
    readonly id: string,
    private known = 0,
    carriedOver = 0,
  ) {
    this.#view = new RunView(carriedOver);
    this.#snapshot = {
      view: this.#view,
      version: 0,
      status: this.#view.status,
      frames: [],
      connection: "connecting",
      retryAt: null,
      debug: null,
      breakpoints: [],
      edits: [],
      edited: 0,
      stops: [],
      filesProgress: null,
      pending: null,
      isLoaded: false,
    };
  }

  snapshot = (): RunSnapshot => this.#snapshot;

  subscribe = (listener: Listener): (() => void) => {
    this.#listeners.add(listener);
    if (this.#users++ === 0) this.#start();
    return () => {
      this.#listeners.delete(listener);
      if (--this.#users === 0) this.#stop();
    };
  };

  /** Hear every event from now on, for what has to happen once: a notification, a line in the console. */
  hear(onEvent: OnEvent): () => void {
    this.#onEvent.add(onEvent);
    return () => this.#onEvent.delete(onEvent);
  }

  /** Say something to the debugger. The answer is the state after it; ApiError when it was refused. */
  async command<V extends DebugVerb>(verb: V, body: DebugVerbs[V]): Promise<void> {
    this.#commands++;
    this.#change({ pending: verb });
    try {
      this.#takeDebug(await api.command(this.id, verb, body), { pending: null });
    } catch (error) {
      this.#change({ pending: null });
      if (error instanceof ApiError && error.isStale) void this.refresh();
      throw error;
    } finally {
      this.#commands--;
      this.#refreshIfBehind();
    }
  }

  /** The answer to a command that is on its way tells the state as well as a question would: that is asked only after it. */
  #refreshIfBehind(): void {
    const { debug } = this.#snapshot;
    if (this.#commands === 0 && (debug === null || debug.last_event < this.#view.last_event)) void this.refresh();
  }

  /** Ask for the debugger's state anew; many calls while one is on its way make one more. Done when that is here. */
  refresh = (): Promise<void> => {
    if (this.#asking === null) return this.#ask();
    this.#askingAgain ??= this.#asking.then(() => this.#ask());
    return this.#askingAgain;
  };

  #ask(): Promise<void> {
    this.#askingAgain = null;
    this.#asking = api
      .debug(this.id)
      .then((debug) => this.#takeDebug(debug))
      .catch((error) => {
        const isPassing = error instanceof ApiError && error.isPassing;
        if (isPassing && this.#snapshot.connection !== "retrying") this.#askSoon(); // else when it is live again
      })
      .finally(() => {
        this.#asking = null;
      });
    return this.#asking;
  }

  #askSoon(): void {
    clearTimeout(this.#askTimer);
    this.#askTimer = setTimeout(() => this.#stopFollowing && this.refresh(), ASKED_AGAIN_AFTER);
  }

  #start(): void {
    this.#stopFollowing = follow({
      url: eventsUrl(this.id, this.#view.last_event),
      onEvents: this.#take,
      onConnection: (connection, retryAt) => {
        // A run that is being read tells more than the debugger: that is asked when the last known event is here.
        if (connection === "live" && (this.#snapshot.isLoaded || this.known === 0)) void this.refresh();
        const { filesProgress } = this.#snapshot;
        this.#change({
          connection,
          retryAt,
          filesProgress: connection === "live" ? filesProgress : null,
          isLoaded: this.#snapshot.isLoaded || connection === "ended",
        });
      },
    });
  }

  #stop(): void {
    this.#stopFollowing?.();
    this.#stopFollowing = null;
    clearTimeout(this.#timer);
    clearTimeout(this.#askTimer);
    this.#timer = undefined;
  }

  #take = (told: ServerEvent[]): void => {
    const all = told.map(({ data }) => JSON.parse(data) as RunEvent | WorkspaceProgress);
    const events = all.filter((each) => each.kind !== "workspace.progress");
    const progress = all.findLast((each) => each.kind === "workspace.progress");
    if (progress) this.#change({ filesProgress: progress.is_over ? null : progress.text });
    if (events.length === 0) return;
    let isDebuggerChanged = false;
    let isMoved = false;
    let isEnded = false;
    const { edited } = this.#view;
    const wasLoaded = this.#snapshot.isLoaded;
    for (const event of events) {
      if (event.number <= this.#view.last_event) continue;
      this.#view.apply(event);
      isMoved ||= event.kind === "debug.stopped" || event.kind === "debug.resumed";
      isEnded ||= event.kind === "run.ended";
      isDebuggerChanged ||= event.kind.startsWith("debug.") || isEnded;
      if (wasLoaded) for (const onEvent of this.#onEvent) onEvent(event);
    }
    if (!wasLoaded && this.#view.last_event < this.known) return;
    if (!wasLoaded) void this.refresh();
    // What a command did is here before its answer: the next one need not wait for that.
    const isDone = isMoved || this.#view.edited !== edited;
    if (!wasLoaded || isEnded) this.#publish();
    else if (isDone) this.#publish({ pending: null });
    else this.#publishSoon();
    if (isDebuggerChanged && wasLoaded) this.#refreshIfBehind();
  };

  #takeDebug(debug: DebugState, change: Partial<RunSnapshot> = {}): void {
    const before = this.#snapshot.debug;
    if (before !== null && debug.last_event < before.last_event) this.#change(change);
    else this.#change({ ...change, debug: replaceEqualDeep(before, debug) });
  }

  #publishSoon(): void {
    this.#timer ??= setTimeout(() => this.#publish(), DRAWN_EVERY);
  }

  #publish(change: Partial<RunSnapshot> = {}): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#change({ ...change, isLoaded: true });
  }

  #change(change: Partial<RunSnapshot>): void {
    const next = { ...this.#snapshot, ...change };
    const view = this.#view;
    if (next.isLoaded) {
      if (this.#shown.event !== view.last_event) next.version++;
      if (this.#shown.frames !== view.frameChanges) next.frames = [...view.frames.values()];
      this.#shown = { event: view.last_event, frames: view.frameChanges };
      next.status = view.status;
      next.edited = view.edited;
      next.stops = sameIfEqual(this.#snapshot.stops, joinStops(view.stops, next.debug));
    }
    next.breakpoints = next.debug?.breakpoints ?? next.breakpoints;
    next.edits = next.debug?.edits ?? next.edits;
    this.#snapshot = next;
    for (const listener of this.#listeners) listener();
  }
}

/** The log says which stops last; the debugger's state says more of each. Whichever is ahead of the other counts. */
export function joinStops(told: ReadonlyMap<number, Stopped>, debug: DebugState | null): StopInfo[] {
  const known = new Map(debug?.stops.map((stop) => [stop.id, stop]));
  return [...told.values()].map((stop) => known.get(stop.stop) ?? fromEvent(stop));
}

const fromEvents = new WeakMap<Stopped, StopInfo>(); // the same one for the same event

function sameIfEqual<T>(before: readonly T[], now: readonly T[]): readonly T[] {
  return before.length === now.length && before.every((each, at) => each === now[at]) ? before : now;
}

function fromEvent(stop: Stopped): StopInfo {
  const known = fromEvents.get(stop);
  if (known) return known;
  const made: StopInfo = {
    id: stop.stop,
    frame: stop.frame,
    step: stop.step,
    occurrence: stop.occurrence,
    position: stop.position,
    reasons: stop.reasons,
    breakpoints: stop.breakpoints,
    problems: stop.problems,
    notes: stop.notes ?? [],
    outcome: null,
    allowed: verbsAt(stop),
    positions: positionsAt(stop),
    will_run: true,
    is_cleanup: false,
    is_injected: stop.step.includes("+"),
    file: null,
    line: null,
    column: null,
    end_line: null,
    after_event: stop.number,
    lease_ends_at: null,
    back: null,
    forward: null,
    call: null,
  };
  fromEvents.set(stop, made);
  return made;
}

const known = new Map<string, LiveRun>();

/** One per run and page, however many components look at it. */
export function liveRun(id: string, lastEvent: number, carriedOver: number): LiveRun {
  const found = known.get(id) ?? new LiveRun(id, lastEvent, carriedOver);
  known.delete(id);
  known.set(id, found);
  for (const oldest of known.keys()) {
    if (known.size <= 5) break;
    known.delete(oldest);
  }
  return found;
}
