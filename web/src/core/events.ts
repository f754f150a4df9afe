/** Every event that the fold or the page looks at. A kind that is not here changes nothing. */

export type Outcome = {
  status: StepStatus;
  outputs: unknown;
  error: { type: string; message: string; origin: string; trace: string | null } | null;
  paused_seconds: number;
};

export type StepStatus =
  | "running"
  | "paused"
  | "interrupted"
  | "passed"
  | "failed"
  | "skipped"
  | "cancelled"
  | "timed_out";
export type BreakPosition = "before" | "after" | "error";

type At = { number: number; at: number };
type OnStep = { frame: string; step: string; occurrence: string };

export type Stopped = At &
  OnStep & {
    kind: "debug.stopped";
    stop: number;
    position: BreakPosition;
    reasons: string[];
    breakpoints: number[];
    problems: string[];
    notes?: string[]; // not told by older servers
  };

export type StepNoted = At & {
  kind: "step.noted";
  frame: string;
  occurrence: string;
  note: string;
  data: Record<string, unknown>;
};

/** A user said how a step that gave up continues. */
export type StepDecided = At &
  OnStep & { kind: "debug.step_decided"; stop: number; choice: string; text: string; by?: string };

export type StepInjected = At & {
  kind: "debug.step_injected";
  stop: number;
  frame: string;
  occurrence: string;
  position: "before" | "after";
  step: string;
  type: string;
  config: Record<string, unknown>;
  id: string | null;
};

export type Rewound = At & {
  kind: "debug.rewound";
  frame: string;
  point_frame: string;
  occurrence: string;
  position: BreakPosition;
  after: number;
  since?: number; // not told by servers that always started the whole frame again
};

export type RewindUndone = Omit<Rewound, "kind"> & { kind: "debug.rewind_undone"; undoes: number };

export type RunEvent =
  | (At & { kind: "run.started"; plan: string; inputs: Record<string, unknown>; left_at?: number | null })
  | (At & { kind: "run.ended"; outcome: Outcome })
  | (At & { kind: "frame.opened"; frame: string; name: string; parent: string | null; step: string | null })
  | (At & { kind: "frame.ended"; frame: string; reason: string | null })
  | (At & OnStep & { kind: "step.started" })
  | (At & OnStep & { kind: "step.finished"; outcome: Outcome })
  | (At & OnStep & { kind: "step.retried"; by_hand: boolean })
  | (At & OnStep & { kind: "step.interrupted" })
  | (At & OnStep & { kind: "step.routed"; targets: string[] })
  | StepNoted
  | (At & OnStep & { kind: "snapshot.taken"; snapshot: string; position: string })
  | (At & { kind: "debug.session_opened" })
  | Stopped
  | (At & { kind: "debug.resumed"; stop: number; frame: string; verb: string })
  | (At & { kind: "debug.stop_ended"; stop: number; frame: string; reason: string })
  | (At & { kind: "debug.all_stopped"; stops: number[] })
  | (At & { kind: "debug.pause_asked"; frame: string | null })
  | (At & { kind: "debug.pause_cancelled"; frame: string | null })
  | (At & { kind: "debug.all_continued" })
  | (At & { kind: "debug.breakpoint_set"; breakpoint: Record<string, unknown> & { id: number } })
  | (At & { kind: "debug.breakpoint_removed"; breakpoint: number })
  | (At & { kind: "debug.breakpoints_muted"; muted: boolean })
  | (At & { kind: "debug.breakpoint_hit"; breakpoint: number; hits: number; occurrence: string })
  | (At & OnStep & { kind: "debug.logged"; breakpoint: number; message: string })
  | (At &
      OnStep & { kind: "debug.python_waited"; host: string; port: number; file: string | null; line: number | null })
  | (At & OnStep & { kind: "debug.scope_edited"; stop: number; layer: string; path: (string | number)[] })
  | (At & { kind: "debug.edit_undone"; stop: number; frame: string; occurrence: string })
  | (At & OnStep & { kind: "debug.config_overridden"; stop: number })
  | (At & OnStep & { kind: "debug.outcome_forced"; stop: number; verb: string; outcome: Outcome })
  | (At & { kind: "debug.frame_cancelled"; frame: string; reason: string })
  | (At & OnStep & { kind: "debug.step_stopped"; reason: string })
  | StepDecided
  | StepInjected
  | (At & { kind: "debug.step_uninjected"; stop: number; frame: string; occurrence: string; step: string })
  | (At & OnStep & { kind: "debug.shell_opened"; shell: number; stop: number | null; by: string })
  | (At & { kind: "debug.shell_closed"; shell: number; changed: string[] | null; changed_count: number })
  | Rewound
  | RewindUndone
  | (At & { kind: "debug.watches_changed"; watches: string[] })
  | (At & { kind: "debug.lease_extended"; seconds: number })
  | (At & { kind: "debug.lease_ended"; stop: number; policy: string })
  | (At & { kind: "debug.detached" })
  | (At & { kind: "debug.aborted"; reason: string });

export type EventKind = RunEvent["kind"];

/** Told between the events while files of the workspace are kept or put back; it is in no log and has no number. */
export type WorkspaceProgress = { kind: "workspace.progress"; text: string; is_over: boolean };
