// Written by `npm run types` from docs/reference/openapi.json: do not edit.

export type AbortForm = {
  reason?: string;
};

export type AnswerForm = {
  approved: boolean;
  /** Who decided, where it is not who the token belongs to. */
  by?: string;
  comment?: string;
};

/** A file that a step handed on. */
export type ArtifactInfo = {
  is_folder: boolean;
  path: string;
  size: number;
};

export type AtStop = {
  /** The stop that it acts on; one that is over answers 409. */
  stop: number;
};

/** Who did what to a run, and when; never a value of a secret. */
export type AuditEntry = {
  action: string;
  at: number;
  detail: Record<string, unknown>;
  number: number;
  run: string | null;
  who: string;
};

/** Some entries, the newest first; `next` is the cursor of those that come after them. */
export type AuditPage = {
  entries: AuditEntry[];
  next: string | null;
};

/** What is to be different about a breakpoint; what is left out stays. */
export type BreakpointChange = {
  condition?: string | null;
  enabled?: boolean | null;
  equals?: unknown;
  file?: string | null;
  group?: string | null;
  has_equals?: boolean | null;
  hits?: string | null;
  kind?: string | null;
  line?: number | null;
  log?: string | null;
  once?: boolean | null;
  position?: "before" | "after" | "error" | null;
  state?: string | null;
  step?: string | null;
};

/** Where to stop; `condition`, `state` and the braces of `log` are jq. */
export type BreakpointForm = {
  condition?: string | null;
  enabled?: boolean;
  equals?: unknown;
  file?: string | null;
  group?: string | null;
  has_equals?: boolean;
  hits?: string | null;
  kind?: string | null;
  line?: number | null;
  log?: string | null;
  once?: boolean;
  position?: "before" | "after" | "error";
  state?: string | null;
  step?: string | null;
};

/** A breakpoint of a session. `paths` are the steps that it is at. */
export type BreakpointInfo = {
  hit_count: number;
  id: number;
  paths: string[];
  request: BreakpointRequest;
};

/** Where to stop: a step by path or id, a kind of step, a line, or everywhere. `condition` is jq. With `log` a text is written instead. `state` is a jq path whose change stops, or, with `has_equals`, its becoming `equals`. */
export type BreakpointRequest = {
  condition: string | null;
  enabled: boolean;
  equals: unknown;
  file: string | null;
  group: string | null;
  has_equals: boolean;
  hits: string | null;
  kind: string | null;
  line: number | null;
  log: string | null;
  once: boolean;
  position: "before" | "after" | "error";
  state: string | null;
  step: string | null;
};

export type CancelForm = {
  /** End everything at once, cleaning up too. */
  now?: boolean;
  reason?: string;
};

/** A difference between two values, at a path; what was not there is None and `kind` says so. */
export type ChangeInfo = {
  after: unknown;
  before: unknown;
  kind: "added" | "removed" | "changed";
  path: string;
};

export type CheckForm = {
  name?: string | null;
  path?: string | null;
  text?: string | null;
};

/** A flow that can run, or every mistake in it. */
export type CheckedFlow = {
  flow: FlowInfo | null;
  mistakes: MistakeInfo[];
};

/** The commit that a run worked on. `has_changes`: the folder was not just as the commit has it when it began. */
export type CommitInfo = {
  branch: string | null;
  has_changes: boolean;
  message: string;
  sha: string;
};

export type ConfigForm = {
  config: Record<string, unknown>;
  /** The stop that it acts on; one that is over answers 409. */
  stop: number;
};

/** A step's config as written, as it would resolve now, and what keeps any part of it from resolving. */
export type ConfigInfo = {
  expressions: string[];
  problems: Record<string, string>;
  raw: Record<string, unknown>;
  resolved: Record<string, unknown>;
};

/** Where a stop is, for somebody who comes to it from elsewhere. The step is the `number`-th of all `steps`. `join` is the command that opens a shell there from any terminal, and `join_sidecar` one that cannot change files; both are empty for a run that only its own terminal can come to. */
export type ContextInfo = {
  commit: CommitInfo | null;
  executor: "process" | "container";
  image: string | null;
  image_digest: string | null;
  in_place: boolean;
  join: string;
  join_sidecar: string;
  kind: string;
  lease_ends_at: number | null;
  log: string[];
  machine: string;
  number: number;
  occurrence: string;
  platform: string;
  position: "before" | "after" | "error";
  session: "none" | "pending" | "waiting" | "connected" | "ended" | "timeout";
  step: string;
  steps: number;
  stop: number;
  title: string;
  workspace: string;
};

export type ContinueForm = {
  all?: boolean;
  /** As if it had not stopped: a step that it ended is on its way again. */
  keeps_step?: boolean;
  stop?: number | null;
};

export type DebugForm = {
  breakpoints?: BreakpointForm[];
  flow_breakpoints?: boolean;
  lease_seconds?: number;
  on_lease_end?: "abort" | "continue";
  stop_at_end?: boolean;
  stop_at_entry?: boolean;
  stop_on_error?: boolean;
};

/** All of a session at one moment: with the events above `last_event` it can be followed from there. */
export type DebugState = {
  breakpoints: BreakpointInfo[];
  edits: EditInfo[];
  frames: FrameInfo[];
  interventions: string[];
  is_ended: boolean;
  last_event: number;
  session: "none" | "pending" | "waiting" | "connected" | "ended" | "timeout";
  stops: StopInfo[];
  watches: string[];
};

/** A change that was made at a stop, and can be undone until its frame goes on. `preview` is the value in one line; `value` is there for a plain one, and cut when it is long. */
export type EditInfo = {
  is_cut: boolean;
  layer: string;
  path: string;
  preview: string;
  removes: boolean;
  stop: number;
  value: unknown;
};

export type EnableForm = {
  enabled: boolean;
};

export type EvaluateForm = {
  expression: string;
  /** The stop that it acts on; one that is over answers 409. */
  stop: number;
};

/** Every value that an expression gives. `cut` has the paths of what was too large to send. */
export type Evaluated = {
  cut: string[];
  values: unknown[];
};

export type ExpressionForm = {
  expression: string;
};

export type ExtendForm = {
  seconds: number;
};

/** A test that failed, by the names that stay the same from run to run. */
export type FailingTest = {
  name: string;
  step: string;
  suite: string;
};

/** A step whose failure counts. */
export type Failure = {
  message: string;
  occurrence: string;
  step: string;
  type: string;
};

/** What became of one path between two points. `mode` is a change of the permissions only. */
export type FileChangeInfo = {
  is_text: boolean;
  kind: "added" | "removed" | "changed" | "mode";
  path: string;
};

/** The files that differ between two points, by path; `total` counts those too that were left off. */
export type FileChanges = {
  changes: FileChangeInfo[];
  total: number;
};

/** One file at two points. `diff` is in the unified format, and empty for what is no text; no `kind`, no change. */
export type FileDiff = {
  diff: string;
  is_cut: boolean;
  is_text: boolean;
  kind: "added" | "removed" | "changed" | "mode" | "";
  path: string;
};

/** Something that was looked at on this machine. `is_needed` is False for what Pitstop can do without. */
export type Finding = {
  detail: string;
  is_needed: boolean;
  name: string;
  works: boolean;
};

/** One of: a file of the server's machine, a text with a name for it, or the name of a stored flow. */
export type FlowChoice = {
  name?: string | null;
  path?: string | null;
  text?: string | null;
};

/** A stored flow; `info` is None when it cannot run. */
export type FlowDetail = {
  file: string;
  info: FlowInfo | null;
  mistakes: MistakeInfo[];
  name: string;
  text: string;
};

/** A flow that can run, its steps in the order in which they are written. */
export type FlowInfo = {
  file: string;
  inputs: InputInfo[];
  name: string;
  steps: StepInfo[];
};

export type ForceForm = {
  outputs?: Record<string, unknown> | null;
  /** Stop the frame at the next point it comes to. */
  pauses?: boolean;
  status: "passed" | "failed" | "skipped" | "cancelled" | "timed_out";
  /** The stop that it acts on; one that is over answers 409. */
  stop: number;
};

/** A line of execution. */
export type FrameInfo = {
  id: string;
  name: string;
  occurrence: string | null;
  parent: string | null;
  state: "running" | "pausing" | "paused" | "done";
  step: string | null;
};

export type GotoForm = {
  /** Agree to repeat what has effects outside that cannot be undone. */
  external?: boolean;
  step: string;
  /** The stop that it acts on; one that is over answers 409. */
  stop: number;
};

export type InjectForm = {
  position?: "before" | "after";
  /** The step: `uses` a type, `with` its config, and an `id` if you like. */
  step: Record<string, unknown>;
  /** The stop that it acts on; one that is over answers 409. */
  stop: number;
};

/** The state after a step was put in, and the path that it has. */
export type InjectedState = {
  breakpoints: BreakpointInfo[];
  edits: EditInfo[];
  frames: FrameInfo[];
  interventions: string[];
  is_ended: boolean;
  last_event: number;
  path: string;
  session: "none" | "pending" | "waiting" | "connected" | "ended" | "timeout";
  stops: StopInfo[];
  watches: string[];
};

/** A value that a run of the flow is given. */
export type InputInfo = {
  default: unknown;
  description: string;
  is_required: boolean;
  name: string;
  type: string | null;
};

/** A line that a step wrote. `number` counts the lines of the occurrence from 1; `text` keeps escape sequences. */
export type LogLine = {
  number: number;
  stream: "stdout" | "stderr";
  text: string;
  time: number;
};

/** Some lines of what an occurrence wrote. `next` is the number to ask after for more; None: no more yet. `is_ended` says that the occurrence has ended, so that there is no more to come. */
export type LogPage = {
  is_ended: boolean;
  lines: LogLine[];
  next: number | null;
  occurrence: string;
};

/** Where a browser is let in: once, and not after `expires_at`. */
export type LoginLink = {
  expires_at: number;
  url: string;
};

/** Who asks, and which server answers. */
export type Me = {
  name: string;
  role: "viewer" | "operator";
  version: string;
};

/** One thing that is wrong in a file, and where: lines and columns count from 1. */
export type MistakeInfo = {
  column: number;
  file: string;
  hint: string | null;
  line: number;
  message: string;
  text: string;
};

/** A token that was just made: it is shown this once. */
export type NewToken = {
  name: string;
  role: "viewer" | "operator";
  token: string;
};

/** One occurrence of a step. Times are seconds since the epoch; `attempt` counts from 1. */
export type OccurrenceInfo = {
  attempt: number;
  ended_at: number | null;
  error: string | null;
  frame: string;
  occurrence: string;
  path: string;
  paused_seconds: number;
  running_seconds: number;
  started_at: number | null;
  status: string;
};

/** How a step ended. */
export type OutcomeInfo = {
  error: string | null;
  error_type: string | null;
  outputs: unknown;
  paused_seconds: number;
  status: string;
};

export type PauseForm = {
  frame?: string | null;
};

export type PinForm = {
  pinned?: boolean;
};

/** A point of the history that can be gone back to. `status` is how the step had ended; `stop`, that it stopped. */
export type PointInfo = {
  at: number;
  frame: string;
  has_snapshot: boolean;
  number: number;
  occurrence: string;
  position: "before" | "after" | "error";
  status: string | null;
  step: string;
  stop: number | null;
};

/** What went wrong, as RFC 9457 has it. `code` is stable; other members are the values of the error. */
export type Problem = {
  code: string;
  detail: string;
  status: number;
  title: string;
  type: string;
};

/** What a step wants to know from a person. */
export type Question = {
  occurrence: string;
  prompt: string;
};

export type RerunForm = {
  can_ask?: boolean;
  /** Check this commit, branch or tag out into a workspace of its own. */
  commit?: string | null;
  debug?: DebugForm | null;
  from_step?: string | null;
  inputs?: Record<string, unknown>;
  priority?: number;
  secrets?: Record<string, string>;
  /** Take the flow's file as it is now, and not as it was then. */
  use_file?: boolean;
};

export type RestartForm = {
  /** Agree to repeat what has effects outside that cannot be undone. */
  external?: boolean;
  /** The stop that it acts on; one that is over answers 409. */
  stop: number;
};

export type RewindForm = {
  /** Agree to repeat what has effects outside that cannot be undone. */
  external?: boolean;
  point: number;
  /** The stop that it acts on; one that is over answers 409. */
  stop: number;
};

/** A run with its flow, and each of its files as it was when the flow was read. */
export type RunDetail = {
  carried_over: number;
  commit: CommitInfo | null;
  created_at: number;
  ended_at: number | null;
  error: string | null;
  failures: Failure[];
  file: string;
  flow: string;
  flow_info: FlowInfo;
  from_run: string | null;
  from_step: string | null;
  id: string;
  inputs: Record<string, unknown>;
  intervened: boolean;
  is_pinned: boolean;
  kept_until: number | null;
  last_event: number;
  priority: number;
  problem: string | null;
  session: "none" | "pending" | "waiting" | "connected" | "ended" | "timeout";
  started_at: number | null;
  status: "pending" | "running" | "paused" | "passed" | "failed" | "cancelled" | "timed_out";
  stops: number[];
  texts: Record<string, string>;
};

export type RunForm = {
  can_ask?: boolean;
  /** Work on this commit of the folder's repository, and not in it. */
  commit?: string | null;
  debug?: DebugForm | null;
  flow: FlowChoice;
  /** The workspace, in place; none makes a fresh one. */
  folder?: string | null;
  from_run?: string | null;
  from_step?: string | null;
  inputs?: Record<string, unknown>;
  only?: string | null;
  priority?: number;
  secrets?: Record<string, string>;
};

/** A run as a list shows it. Times are seconds since the epoch. */
export type RunInfo = {
  carried_over: number;
  commit: CommitInfo | null;
  created_at: number;
  ended_at: number | null;
  error: string | null;
  failures: Failure[];
  file: string;
  flow: string;
  from_run: string | null;
  from_step: string | null;
  id: string;
  inputs: Record<string, unknown>;
  intervened: boolean;
  is_pinned: boolean;
  kept_until: number | null;
  last_event: number;
  priority: number;
  problem: string | null;
  session: "none" | "pending" | "waiting" | "connected" | "ended" | "timeout";
  started_at: number | null;
  status: "pending" | "running" | "paused" | "passed" | "failed" | "cancelled" | "timed_out";
  stops: number[];
};

/** Some runs; `next` is the cursor of those that come after them. */
export type RunPage = {
  next: string | null;
  runs: RunInfo[];
};

export type SecretForm = {
  value: string;
};

/** The secrets that are kept; nobody can read them back. */
export type SecretNames = {
  names: string[];
};

export type SetForm = {
  layer?: string | null;
  path: string;
  /** The stop that it acts on; one that is over answers 409. */
  stop: number;
  value: unknown;
};

export type ShellForm = {
  /** A sidecar sees the workspace and cannot change it. */
  mode?: "shell" | "sidecar";
  /** Keep the shell as an asciicast among the run's artifacts. */
  record?: "screen" | "keys" | null;
  /** The stop that it acts on; one that is over answers 409. */
  stop: number;
};

/** Opens one shell, once, until `expires_at` (seconds since the epoch). */
export type ShellToken = {
  expires_at: number;
  token: string;
};

export type SkipForm = {
  outputs?: Record<string, unknown> | null;
  /** Stop the frame at the next point it comes to. */
  pauses?: boolean;
  /** The stop that it acts on; one that is over answers 409. */
  stop: number;
};

export type StepForm = {
  /** Agree to repeat what has effects outside that cannot be undone. */
  external?: boolean;
  kind: "into" | "over" | "out" | "to" | "back";
  /** Where to, for `to`. */
  step?: string | null;
  /** The stop that it acts on; one that is over answers 409. */
  stop: number;
};

/** A step of a flow. `parent` is the path of the step around it; lines and columns count from 1. */
export type StepInfo = {
  column: number | null;
  condition: string | null;
  detail: string;
  end_line: number | null;
  file: string | null;
  goes_on_after_failure: boolean;
  id: string | null;
  is_cleanup: boolean;
  kind: string;
  line: number | null;
  parent: string | null;
  path: string;
  retries: number;
  title: string;
};

/** A type of step, or a way of combining steps: one line, and all that there is to say. `config` is the JSON Schema of its config, for forms; None for a way of combining, which has steps in it. */
export type StepTypeHelp = {
  config: Record<string, unknown> | null;
  name: string;
  summary: string;
  text: string;
  usage: string;
};

/** A frame that stands still. `allowed` has the verbs that are possible now; `will_run` is what the `if` says. `after_event` is its number in the log: what a rewind to it keeps. */
export type StopInfo = {
  after_event: number;
  allowed: string[];
  breakpoints: number[];
  column: number | null;
  end_line: number | null;
  file: string | null;
  frame: string;
  id: number;
  is_cleanup: boolean;
  is_injected: boolean;
  lease_ends_at: number | null;
  line: number | null;
  occurrence: string;
  outcome: OutcomeInfo | null;
  position: "before" | "after" | "error";
  problems: string[];
  reasons: string[];
  step: string;
  will_run: boolean;
};

/** A flow that can be started by its name: a file in one of the folders that the service was given. */
export type StoredFlow = {
  file: string;
  name: string;
  problem: string | null;
};

/** One test of a report: passed, failed, error or skipped. `change` compares it with the run before. */
export type TestCase = {
  change: "new" | "fixed" | "still_failing" | "flaky" | "";
  message: string;
  name: string;
  seconds: number;
  status: string;
  step: string;
  suite: string;
};

/** What the tests of one run of a flow came to: how many there were, and which of them failed. */
export type TestedRun = {
  created_at: number;
  failed: number;
  failing: FailingTest[];
  run: string;
  seconds: number;
  skipped: number;
  status: "pending" | "running" | "paused" | "passed" | "failed" | "cancelled" | "timed_out";
  total: number;
};

export type TokenForm = {
  name: string;
  role: "viewer" | "operator";
};

/** Who may come in with a token; the token itself is kept by nobody but them. */
export type TokenInfo = {
  created_at: number;
  name: string;
  role: "viewer" | "operator";
};

export type UnsetForm = {
  layer?: string | null;
  path: string;
  /** The stop that it acts on; one that is over answers 409. */
  stop: number;
};

/** A value in a scope, one level of it. `path` is jq; `size` is how many children it has, None for a plain value. `value` is there for a plain value, and cut when it is long; `preview` is one line in any case. */
export type VariableInfo = {
  is_cut: boolean;
  layer: string;
  name: string;
  path: string;
  preview: string;
  set_by: string | null;
  size: number | null;
  type: "object" | "array" | "string" | "number" | "boolean" | "null";
  value: unknown;
};

/** Some children of a value; `next` is the cursor of those that come after them. */
export type VariablePage = {
  next: number | null;
  total: number;
  variables: VariableInfo[];
};

/** All that a step sees. `cut` has the paths of what was too large to send: variables can be read page by page. */
export type WholeScope = {
  cut: string[];
  scope: Record<string, unknown>;
};
