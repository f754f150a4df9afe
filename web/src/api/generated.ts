// Written by `npm run types` from docs/reference/openapi.json: do not edit.

export type AbortForm = {
  reason?: string;
};

export type AnswerForm = {
  approved: boolean;
  /** Who decided, if not the owner of the token. */
  by?: string;
  comment?: string;
};

export type ApprovalForm = {
  /** The commit that was reviewed; 409 if the branch is at another. */
  expect?: string | null;
  keep_open?: boolean;
  message?: string;
  method?: "merge" | "squash" | "rebase";
};

/** An artifact of a step. */
export type ArtifactInfo = {
  is_folder: boolean;
  path: string;
  size: number;
};

/** An attempt with the flow that its run executed, and what its agent was told. */
export type AttemptDetail = {
  by: string;
  card: string;
  ended_at: number | null;
  from_sha: string;
  kind: "by_hand" | "update" | "work";
  live: Live;
  number: number;
  outcome: "cancelled" | "failed" | "passed" | "running";
  profile: string | null;
  prompt: string;
  reason: string | null;
  run: string;
  started_at: number;
  text: string;
  to_sha: string | null;
};

/** One attempt at the work of a card. `to_sha` is its commit, if it changed something. */
export type AttemptInfo = {
  by: string;
  card: string;
  ended_at: number | null;
  from_sha: string;
  kind: "by_hand" | "update" | "work";
  live: Live;
  number: number;
  outcome: "cancelled" | "failed" | "passed" | "running";
  profile: string | null;
  reason: string | null;
  run: string;
  started_at: number;
  to_sha: string | null;
};

/** Who did what to a run, and when, without secret values. */
export type AuditEntry = {
  action: string;
  at: number;
  detail: Record<string, unknown>;
  number: number;
  run: string | null;
  who: string;
};

/** A page of entries, newest first; `next` is the cursor of the next page. */
export type AuditPage = {
  entries: AuditEntry[];
  next: string | null;
};

/** The columns of a repository, in the order of the board; `labels` and `profiles` are all that its cards have. */
export type Board = {
  columns: Column[];
  labels: string[];
  profiles: string[];
};

/** A branch, and how many commits it is ahead of and behind the default branch; None if that does not exist. */
export type Branch = {
  ahead: number | null;
  behind: number | null;
  commit: RefValue;
  name: string;
};

/** A page of branches, by name; `next` is the cursor of the next page. */
export type BranchPage = {
  branches: Branch[];
  next: string | null;
};

export type BranchesForm = {
  /** The branches to delete, each with the commit that it is expected at. */
  branches: Record<string, string>;
};

/** Where to pause: a step or one occurrence of it, a step type, a line, or everywhere. `condition` is jq. With `tool` (a class such as `shell`, a name, or `any`) or `path` (a pattern of files), it pauses at the tool calls inside those steps. With `log` a message is logged instead. `state` is a jq path: the run pauses when its value changes or, with `has_equals`, becomes `equals`. */
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
  note?: string | null;
  once?: boolean;
  path?: string | null;
  position?: "after" | "before" | "error";
  state?: string | null;
  step?: string | null;
  tool?: string | null;
};

/** A breakpoint of a session. `paths` are the steps it applies to. */
export type BreakpointInfo = {
  hit_count: number;
  id: number;
  paths: string[];
  request: BreakpointRequest;
};

/** Where to pause: a step or one occurrence of it, a step type, a line, or everywhere. `condition` is jq. With `tool` (a class such as `shell`, a name, or `any`) or `path` (a pattern of files), it pauses at the tool calls inside those steps. With `log` a message is logged instead. `state` is a jq path: the run pauses when its value changes or, with `has_equals`, becomes `equals`. */
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
  note: string | null;
  once: boolean;
  path: string | null;
  position: "after" | "before" | "error";
  state: string | null;
  step: string | null;
  tool: string | null;
};

export type CancelForm = {
  /** Kill everything at once, including cleanup. */
  now?: boolean;
  reason?: string;
};

/** Cancel a branch; what happens to its siblings is up to the flow. To cancel the main frame, abort the run. */
export type CancelFrameForm = {
  frame: string;
  reason?: string;
};

/** The frame, or every frame, keeps running as if no pause had been requested. */
export type CancelPauseForm = {
  frame?: string | null;
};

export type CardChangesForm = {
  base?: string | null;
  description?: string | null;
  labels?: string[] | null;
  title?: string | null;
  work?: WorkForm | null;
};

/** A card with all that is known of it. `test` is the command that tests the work of an agent, if there is one. */
export type CardInfo = {
  attempt: number;
  base: string;
  base_sha: string | null;
  branch: string | null;
  by: string;
  conflict: Conflict | null;
  created_at: number;
  description: string;
  has_conflict: boolean;
  head_sha: string | null;
  id: string;
  is_branch_gone: boolean;
  judges: string[];
  labels: string[];
  landed_at: number | null;
  live: Live | null;
  merged_sha: string | null;
  moves: ("done" | "failed" | "in_progress" | "in_review" | "todo")[];
  number: number;
  position: number;
  profile: string | null;
  reason: string | null;
  repo: string;
  run: string | null;
  run_status: "cancelled" | "failed" | "passed" | "paused" | "pending" | "running" | "timed_out" | null;
  status: "done" | "failed" | "in_progress" | "in_review" | "todo";
  test: string | null;
  title: string;
  unresolved_notes: number;
  updated_at: number;
  version: number;
  work: "agent" | "flow" | "none" | "run";
  work_details: Work;
};

export type CardMoveForm = {
  /** The card to put it behind; first in the column if omitted. */
  after?: string | null;
  status: "todo" | "in_progress" | "in_review" | "done" | "failed";
  /** Put it at the end of the column. */
  to_end?: boolean;
};

export type CardOfTrialForm = {
  /** One line. */
  title: string;
};

/** What would be run for a card: the flow, the prompt of its agent, and the command that tests the work. */
export type CardPreview = {
  prompt: string;
  test: string | null;
  text: string;
};

/** A card as the board shows it. `run_status` and `live` are those of the attempt that is running. `judges` are the runs that a completed card has started and that have not ended. */
export type CardSummary = {
  attempt: number;
  base: string;
  branch: string | null;
  by: string;
  created_at: number;
  has_conflict: boolean;
  head_sha: string | null;
  id: string;
  judges: string[];
  labels: string[];
  landed_at: number | null;
  live: Live | null;
  number: number;
  position: number;
  profile: string | null;
  reason: string | null;
  repo: string;
  run: string | null;
  run_status: "cancelled" | "failed" | "passed" | "paused" | "pending" | "running" | "timed_out" | null;
  status: "done" | "failed" | "in_progress" | "in_review" | "todo";
  title: string;
  updated_at: number;
  version: number;
  work: "agent" | "flow" | "none" | "run";
};

/** Changes of a breakpoint; omitted fields stay as they are. */
export type ChangeBreakpointForm = {
  condition?: string | null;
  enabled?: boolean | null;
  equals?: unknown | null;
  file?: string | null;
  group?: string | null;
  has_equals?: boolean | null;
  hits?: string | null;
  kind?: string | null;
  line?: number | null;
  log?: string | null;
  note?: string | null;
  once?: boolean | null;
  path?: string | null;
  position?: "after" | "before" | "error" | null;
  state?: string | null;
  step?: string | null;
  tool?: string | null;
};

/** A difference between two values, at a path; a missing value is None, as `kind` says. */
export type ChangeInfo = {
  after: unknown;
  before: unknown;
  kind: "added" | "changed" | "removed";
  path: string;
};

/** A file that differs; `added` and `removed` count lines, and are None if it is binary or was not counted. */
export type ChangedFile = {
  added: number | null;
  old_path: string | null;
  path: string;
  removed: number | null;
  status: "added" | "copied" | "deleted" | "modified" | "renamed" | "type_changed";
};

export type CheckForm = {
  name?: string | null;
  path?: string | null;
  /** Its branch, tag or commit; the default branch if omitted. */
  ref?: string | null;
  /** The repository that the named flow is in. */
  repo?: string | null;
  text?: string | null;
};

/** A valid flow, or all errors in it. */
export type CheckedFlow = {
  flow: FlowInfo | null;
  mistakes: Mistake[];
};

/** One column of the board: how many cards it has, and the first of them, or those after a cursor. */
export type Column = {
  cards: CardSummary[];
  count: number;
  next: string | null;
  status: "done" | "failed" | "in_progress" | "in_review" | "todo";
};

/** A commit in a history; `at` is when it was committed, in seconds since the epoch. */
export type CommitEntry = {
  at: number;
  author: string;
  body: string;
  email: string;
  parents: string[];
  sha: string;
  subject: string;
};

/** The commit of a run. `has_changes`: the folder had uncommitted changes when the run started. */
export type CommitInfo = {
  branch: string | null;
  has_changes: boolean;
  message: string;
  sha: string;
};

/** A page of commits, the newest first; `next` is the cursor of the next page. */
export type CommitPage = {
  commits: CommitEntry[];
  next: string | null;
};

/** The run that tests were compared with; `ref` is its branch or tag in the repository, if it is of one. */
export type ComparedRun = {
  created_at: number;
  ref: string | null;
  run: string;
};

/** Two trials, and what differs between their results. */
export type Comparison = {
  a: TrialResult;
  b: TrialResult;
  between: Diff;
};

export type ConfigForm = {
  config: Record<string, unknown>;
  /** The stop to act on; 409 if it has ended. */
  stop: number;
};

/** A step's config as written, as it resolves now, and what cannot be resolved. */
export type ConfigInfo = {
  expressions: string[];
  problems: Record<string, string>;
  raw: Record<string, unknown>;
  resolved: Record<string, unknown>;
};

/** Why the branch of a card cannot be merged into its base, as both were at these commits. */
export type Conflict = {
  base_sha: string;
  files: ConflictFile[];
  head_sha: string;
};

/** A file that both sides changed. Only one of kind `text` has conflict markers for certain. */
export type ConflictFile = {
  kind: "binary" | "deleted" | "other" | "renamed" | "text";
  path: string;
};

/** Where a stop is, for another client that attaches to it. The step is the `number`-th of all `steps`. `join` is the command that opens a shell there from any terminal, and `join_sidecar` one that cannot change files; both are empty for a run that only its own terminal can reach. */
export type ContextInfo = {
  commit: CommitInfo | null;
  executor: "container" | "process";
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
  position: "after" | "before" | "error";
  session: "connected" | "ended" | "none" | "pending" | "timeout" | "waiting";
  step: string;
  steps: number;
  stop: number;
  title: string;
  workspace: string;
};

export type ContinueForm = {
  all?: boolean;
  /** As if it had not paused: an interrupted step command continues. */
  keeps_step?: boolean;
  stop?: number | null;
};

export type DebugForm = {
  breakpoints?: BreakpointForm[];
  flow_breakpoints?: boolean;
  lease_seconds?: number;
  on_lease_end?: "abort" | "continue";
  remembers?: boolean;
  stop_at_end?: boolean;
  stop_at_entry?: boolean;
  stop_on_error?: boolean;
  watches?: string[];
};

/** A snapshot of a session: apply the events above `last_event` to follow it from there. */
export type DebugState = {
  breakpoints: BreakpointInfo[];
  edits: EditInfo[];
  frames: FrameInfo[];
  injected: InjectedInfo[];
  interventions: string[];
  is_ended: boolean;
  is_muted: boolean;
  last_event: number;
  session: "connected" | "ended" | "none" | "pending" | "timeout" | "waiting";
  stops: StopInfo[];
  watches: string[];
};

/** Say how a step that gave up continues: only at a stop with the reason `escalated`. `guide` needs guidance in `text`, `skip` a reason; `roll_back` takes the number of an iteration, or `base`. After `take_over` the run stays paused: repair it, then continue. */
export type DecideForm = {
  choice: "guide" | "roll_back" | "skip" | "stop" | "take_over";
  /** The stop to act on; 409 if it has ended. */
  stop: number;
  text?: string;
};

/** The answer to a delivery: what each flow made of it. */
export type Delivered = {
  delivery: string;
  firings: FiringInfo[];
  is_ping: boolean;
};

/** Something that was delivered, how it was answered, and what each flow made of it. A large one is stored without its body. */
export type DeliveryInfo = {
  at: number;
  can_repeat: boolean;
  delivery: string;
  event: string;
  firings: FiringInfo[];
  headers: Record<string, string>;
  hook: string;
  id: number;
  reason: string | null;
  size: number;
  status: number;
};

/** The files that differ between two commits; `base` is the one that they were compared with. */
export type Diff = {
  base: string;
  files: ChangedFile[];
  head: string;
  is_cut: boolean;
};

/** An edit made at a stop, which can be undone until its frame resumes. `preview` is the value in one line; `value` is set for a plain value, and truncated when it is long. */
export type EditInfo = {
  is_cut: boolean;
  layer: string;
  path: string;
  preview: string;
  removes: boolean;
  stop: number;
  value: unknown;
};

export type EnableBreakpointGroupForm = {
  enabled: boolean;
};

/** The answer has every value that the expression returns. */
export type EvaluateForm = {
  expression: string;
  stop?: number | null;
};

/** All values of an expression. `cut` has the paths of values too large to send. */
export type Evaluated = {
  cut: string[];
  values: unknown[];
};

export type ExtendForm = {
  seconds: number;
};

/** A failed test, by the names that are stable across runs. */
export type FailingTest = {
  name: string;
  step: string;
  suite: string;
};

/** A failed step that made the run fail. */
export type Failure = {
  message: string;
  occurrence: string;
  step: string;
  type: string;
};

/** A change of one path between two points. `mode` means that only the permissions changed. */
export type FileChangeInfo = {
  is_text: boolean;
  kind: "added" | "changed" | "mode" | "removed";
  path: string;
};

/** The files that differ between two points, by path; `total` also counts omitted ones. */
export type FileChanges = {
  changes: FileChangeInfo[];
  total: number;
};

/** A file as it can be shown. `size` is that of the whole file; there is no text if it is binary. */
export type FileContent = {
  is_binary: boolean;
  is_cut: boolean;
  is_lfs: boolean;
  path: string;
  sha: string;
  size: number;
  text: string | null;
};

/** One file at two points. `diff` is a unified diff, empty for a binary file; no `kind` means no change. */
export type FileDiff = {
  diff: string;
  is_cut: boolean;
  is_text: boolean;
  kind: "added" | "changed" | "mode" | "removed" | "";
  path: string;
};

/** One check of this machine's setup. `is_needed` is False for what is optional. */
export type Finding = {
  detail: string;
  is_needed: boolean;
  name: string;
  works: boolean;
};

export type FireForm = {
  inputs?: Record<string, unknown>;
  ref?: string | null;
};

/** What a trigger made of an event: the run that it started, or the reason why it started none. */
export type FiringInfo = {
  at: number;
  card: string | null;
  flow: string;
  id: number;
  kind: "card" | "card_complete" | "manual" | "push" | "schedule" | "trial" | "webhook";
  outcome: "duplicate" | "pending" | "refused" | "skipped" | "started";
  push: number | null;
  reason: string | null;
  ref: string | null;
  repo: string;
  run: string | null;
  sha: string | null;
  who: string;
};

/** A page of firings, the newest first; `next` is the cursor of the next page. */
export type FiringPage = {
  firings: FiringInfo[];
  next: string | null;
};

export type FixLoopForm = {
  /** Options of the loop, as those of `fix` in a flow. */
  options?: Record<string, unknown>;
  /** The step to test and repair; by default the one that failed. */
  step?: string | null;
};

export type FixWayForm = {
  /** The guidance, the iteration to go back to (or `base`), or the reason. */
  text?: string;
};

/** One of: a file on the server's machine, a text with an optional name, the name of a stored flow, or of a flow of a repository. */
export type FlowChoice = {
  name?: string | null;
  path?: string | null;
  /** Its branch, tag or commit; the default branch if omitted. */
  ref?: string | null;
  /** The repository that the named flow is in. */
  repo?: string | null;
  text?: string | null;
};

/** A stored flow; `info` is None if it is invalid. */
export type FlowDetail = {
  file: string;
  info: FlowInfo | null;
  mistakes: Mistake[];
  name: string;
  text: string;
};

/** A valid flow, with its steps in source order. */
export type FlowInfo = {
  file: string;
  inputs: InputInfo[];
  name: string;
  secrets: SecretUse[];
  steps: StepInfo[];
  warnings: Mistake[];
};

/** A folder at a commit; `is_cut` says that it has more entries. */
export type Folder = {
  entries: TreeEntry[];
  is_cut: boolean;
  path: string;
  sha: string;
};

export type ForceForm = {
  message?: string | null;
  outputs?: Record<string, unknown> | null;
  /** Pause the frame at its next point. */
  pauses?: boolean;
  status: "cancelled" | "failed" | "passed" | "skipped" | "timed_out";
  /** The stop to act on; 409 if it has ended. */
  stop: number;
};

/** Undo the last step back, rewind, restart or jump back of the frame, until a step has finished since. The answer says where it leads, and whether files are restored. */
export type ForwardForm = {
  /** The stop to act on; 409 if it has ended. */
  stop: number;
};

/** A line of execution. */
export type FrameInfo = {
  id: string;
  name: string;
  occurrence: string | null;
  parent: string | null;
  state: "done" | "paused" | "pausing" | "running";
  step: string | null;
};

/** Go to a step of the same sequence, back or ahead, and stop before it. The steps between are skipped. */
export type GotoForm = {
  /** Confirm repeating external effects that cannot be undone. */
  external?: boolean;
  step: string;
  /** The stop to act on; 409 if it has ended. */
  stop: number;
};

/** The results of one test, newest first; `next` is the cursor of the next page, if there is one. */
export type HistoryPage = {
  next: string | null;
  results: TestResult[];
};

export type HookForm = {
  /** Only for this flow; for all flows of the repository if omitted. */
  flow?: string | null;
  provider?: "github" | "gitlab" | "gitea" | "plain";
};

/** A webhook as users see it. `path` is where deliveries go; the secret is shown only when it is created. */
export type HookInfo = {
  created_at: number;
  enabled: boolean;
  flow: string | null;
  id: string;
  last_at: number | null;
  path: string;
  provider: "gitea" | "github" | "gitlab" | "plain";
  repo: string;
  secret: string | null;
};

/** The answer also has the path of the injected step. */
export type InjectForm = {
  position?: "after" | "before";
  /** A step as in a flow file: a type, its options, or a group of steps. */
  step: Record<string, unknown>;
  /** The stop to act on; 409 if it has ended. */
  stop: number;
};

/** An injected step with its own config, and the steps in it. One that is waiting can be removed. `occurrence` and `position` say where it runs. */
export type InjectedInfo = {
  config: Record<string, unknown>;
  frame: string;
  is_waiting: boolean;
  occurrence: string;
  position: "after" | "before";
  step: StepInfo;
  steps: StepInfo[];
  stop: number;
};

/** The state after a step was injected, and the path of that step. */
export type InjectedState = {
  breakpoints: BreakpointInfo[];
  edits: EditInfo[];
  frames: FrameInfo[];
  injected: InjectedInfo[];
  interventions: string[];
  is_ended: boolean;
  is_muted: boolean;
  last_event: number;
  path: string;
  session: "connected" | "ended" | "none" | "pending" | "timeout" | "waiting";
  stops: StopInfo[];
  watches: string[];
};

/** An input of a flow. */
export type InputInfo = {
  default: unknown;
  description: string;
  is_required: boolean;
  name: string;
  type: string | null;
};

export type LandingForm = {
  branch: string;
  remote: string;
  sha: string;
};

/** What an agent is doing: its last tool call in a few words, how many there were, and what they cost. */
export type Live = {
  about: string;
  calls: number;
  cost: number | null;
  tokens: number | null;
  tool: string | null;
};

/** A line of a step's log. `number` counts the lines of the occurrence from 1; `text` keeps escape sequences. */
export type LogLine = {
  number: number;
  stream: "stderr" | "stdout";
  text: string;
  time: number;
};

/** A page of the log of an occurrence. `next` is the number to continue after; None: no more yet. `is_ended` says that the occurrence has ended, so that there is no more to come. */
export type LogPage = {
  is_ended: boolean;
  lines: LogLine[];
  next: number | null;
  occurrence: string;
};

/** A one-time login link for a browser, valid until `expires_at`. */
export type LoginLink = {
  expires_at: number;
  url: string;
};

/** The client, and the server that answers. */
export type Me = {
  name: string;
  role: "operator" | "viewer";
  version: string;
};

/** An error in a file, and its position: lines and columns count from 1. As text it looks like a compiler error: the position and message, the line (`text`), and a caret with the hint. */
export type Mistake = {
  column: number;
  file: string;
  hint: string | null;
  line: number;
  message: string;
  text: string;
};

/** Muted breakpoints are kept but ignored, across restarts too, until they are unmuted. */
export type MuteForm = {
  muted?: boolean;
};

export type NewCardForm = {
  /** The branch to start from and to merge into; the default branch. */
  base?: string | null;
  description?: string;
  labels?: string[];
  /** Start the work at once. */
  start?: boolean;
  /** One line. */
  title: string;
  work?: WorkForm;
};

export type NewNoteForm = {
  file?: string | null;
  line?: number | null;
  sha?: string | null;
  side?: "old" | "new";
  text: string;
};

export type NewRepoForm = {
  default_branch?: string;
  /** Start no flows until `POST /repos/{repo}/ingested`. */
  ingest?: boolean;
  name: string;
  remote_url?: string | null;
  title?: string;
};

/** A new token: it is shown only once. */
export type NewToken = {
  expires_at: number | null;
  name: string;
  repo: string | null;
  role: "operator" | "viewer";
  scope: "all" | "git:read" | "git:write";
  token: string;
};

export type NewTrialForm = {
  /** Limits of each agent, such as `{cost: 2.0, time: 20m}`. */
  budget?: Record<string, unknown>;
  /** Pause at each tool call. */
  debug?: boolean;
  /** `branch`: all files; `file`: only the file at `path` may change; `text`: no files. */
  input?: "branch" | "file" | "text";
  model?: string | null;
  path?: string | null;
  /** The agents to try the prompt with, in a trial each. */
  profiles: string[];
  prompt: string;
  /** A branch, tag or commit; the default branch if omitted. */
  ref?: string | null;
  repo?: string | null;
  /** Save what changes to a branch `agent-test/<save>-NNN`. */
  save?: string | null;
};

/** A note. `file_now` and `line_now` are where its line is at the head; it is outdated if the line is gone. */
export type NoteInfo = {
  at: number;
  card: string;
  file: string | null;
  file_now: string | null;
  id: number;
  is_outdated: boolean;
  kind: "comment" | "review" | "system";
  line: number | null;
  line_now: number | null;
  resolved: boolean;
  sha: string | null;
  side: "new" | "old";
  text: string;
  who: string;
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

/** The changed lines of a file, as a unified diff. */
export type Patch = {
  file: ChangedFile;
  is_binary: boolean;
  is_cut: boolean;
  text: string;
};

export type PauseForm = {
  frame?: string | null;
};

export type PinForm = {
  pinned?: boolean;
};

/** A point in the history to rewind to. `status` is the outcome of the step; `stop` is set if it paused there. */
export type PointInfo = {
  at: number;
  frame: string;
  has_snapshot: boolean;
  number: number;
  occurrence: string;
  position: "after" | "before" | "error";
  status: string | null;
  step: string;
  stop: number | null;
};

/** Problem details (RFC 9457). `code` is stable; other members are the values of the error. */
export type Problem = {
  code: string;
  detail: string;
  status: number;
  title: string;
  type: string;
};

/** A move of a branch or tag, with what each flow made of it. `note` says why it started nothing at all. */
export type PushInfo = {
  at: number;
  firings: FiringInfo[];
  id: number;
  is_forced: boolean;
  new: string | null;
  note: string | null;
  old: string | null;
  ref: string;
  subject: string;
  via: "card" | "ingest" | "merge" | "push" | "scan" | "write";
  who: string;
};

/** A page of pushes, the newest first; `next` is the cursor of the next page. */
export type PushPage = {
  next: string | null;
  pushes: PushInfo[];
};

/** A question of a step to the user. */
export type Question = {
  occurrence: string;
  prompt: string;
};

/** The commit that a ref leads to; `at` is when it was committed, in seconds since the epoch. `object` is what the ref itself names: the commit, or an annotated tag of it. */
export type RefValue = {
  at: number;
  author: string;
  object: string;
  sha: string;
  subject: string;
};

export type RejectionForm = {
  keep_branch?: boolean;
  reason?: string;
};

export type RepoChangesForm = {
  default_branch?: string | null;
  disabled_flows?: string[] | null;
  /** Branches that only a merge by Pitstop may change. */
  protected?: string[] | null;
  remote_url?: string | null;
  /** The command that tests the work of agents; empty to find one, `none` for none. */
  test?: string | null;
  title?: string | null;
};

/** A flow of a repository. One with problems, or that is disabled, starts nothing. */
export type RepoFlowInfo = {
  is_enabled: boolean;
  name: string;
  next_times: number[];
  path: string;
  problems: Mistake[];
  title: string;
  triggers: Record<string, unknown>;
};

/** A flow with its text at a commit. */
export type RepoFlowText = {
  is_enabled: boolean;
  name: string;
  next_times: number[];
  path: string;
  problems: Mistake[];
  sha: string;
  text: string;
  title: string;
  triggers: Record<string, unknown>;
};

/** A repository. `head` is the commit of its default branch; `address` is that of another server that has it. */
export type RepoInfo = {
  address: string | null;
  broken_flows: number;
  created_at: number;
  default_branch: string;
  disabled_flows: string[];
  error: string | null;
  flows: number;
  head: CommitEntry | null;
  id: string;
  protected: string[];
  remote_url: string | null;
  state: "creating" | "deleting" | "failed" | "ready";
  test: string;
  title: string;
};

export type RerunForm = {
  can_ask?: boolean;
  /** Check out this commit, branch or tag into a fresh workspace. */
  commit?: string | null;
  debug?: DebugForm | null;
  /** Put the step in a fix loop. */
  fix?: FixLoopForm | null;
  from_step?: string | null;
  inputs?: Record<string, unknown>;
  priority?: number;
  secrets?: Record<string, string>;
  /** Use the current flow file, or that of `commit`, not the version of the run. */
  use_file?: boolean;
};

export type ResolvedForm = {
  resolved: boolean;
};

export type RestartForm = {
  /** Confirm repeating external effects that cannot be undone. */
  external?: boolean;
  /** The stop to act on; 409 if it has ended. */
  stop: number;
};

export type RetryForm = {
  /** The stop to act on; 409 if it has ended. */
  stop: number;
};

/** What followed the point in its frames no longer counts, and runs again. */
export type RewindForm = {
  /** Confirm repeating external effects that cannot be undone. */
  external?: boolean;
  /** The number of a point in the history. */
  point: number;
  /** The stop to act on; 409 if it has ended. */
  stop: number;
};

/** A run with its flow, and the flow's files as they were when it was read. */
export type RunDetail = {
  card: string | null;
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
  ref: string | null;
  repo: string | null;
  session: "connected" | "ended" | "none" | "pending" | "timeout" | "waiting";
  started_at: number | null;
  started_by: string | null;
  status: "cancelled" | "failed" | "passed" | "paused" | "pending" | "running" | "timed_out";
  stops: number[];
  texts: Record<string, string>;
};

export type RunForm = {
  can_ask?: boolean;
  /** Check out this commit of the folder into a fresh workspace. */
  commit?: string | null;
  debug?: DebugForm | null;
  /** The event of `files_run` that its files were stored at. */
  files_event?: number | null;
  /** Start with the files of this run, in a fresh workspace. */
  files_run?: string | null;
  flow: FlowChoice;
  /** The folder to run in; omit it for a fresh workspace. */
  folder?: string | null;
  from_run?: string | null;
  from_step?: string | null;
  inputs?: Record<string, unknown>;
  only?: string | null;
  priority?: number;
  secrets?: Record<string, string>;
};

/** A summary of a run. Times are seconds since the epoch. */
export type RunInfo = {
  card: string | null;
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
  ref: string | null;
  repo: string | null;
  session: "connected" | "ended" | "none" | "pending" | "timeout" | "waiting";
  started_at: number | null;
  started_by: string | null;
  status: "cancelled" | "failed" | "passed" | "paused" | "pending" | "running" | "timed_out";
  stops: number[];
};

/** A page of runs; `next` is the cursor of the next page. */
export type RunPage = {
  next: string | null;
  runs: RunInfo[];
};

export type SaveForm = {
  name: string;
};

export type SecretForm = {
  /** Repositories whose runs may get a secret with scope `server`; `*` is all. */
  repos?: string[];
  value: string;
};

/** A stored secret, which cannot be read back. Runs of `repos` may get it if its scope is `server`. */
export type SecretInfo = {
  created_at: number;
  name: string;
  repos: string[];
  scope: string;
};

/** A secret that a flow uses. `is_stored`: the service has its value, so a run does not need one. */
export type SecretUse = {
  is_stored: boolean;
  name: string;
};

export type SetForm = {
  layer?: string | null;
  path: string;
  /** The stop to act on; 409 if it has ended. */
  stop: number;
  value: unknown;
};

/** Either a `stop` or a `step`. */
export type ShellForm = {
  /** A sidecar is a read-only shell; `step` runs the step's own command. */
  mode?: "shell" | "sidecar" | "step";
  /** Save the shell as an asciicast artifact of the run. */
  record?: "screen" | "keys" | null;
  /** A step that is running: its occurrence, path or ID. */
  step?: string | null;
  stop?: number | null;
};

/** A one-time token for a shell, valid until `expires_at` (seconds since the epoch). */
export type ShellToken = {
  expires_at: number;
  token: string;
};

/** Skip the step. A tool call is refused, and the agent is told the message. */
export type SkipForm = {
  message?: string | null;
  outputs?: Record<string, unknown> | null;
  /** Pause the frame at its next point. */
  pauses?: boolean;
  /** The stop to act on; 409 if it has ended. */
  stop: number;
};

export type StartCardForm = {
  /** Pause at the first tool call, or the first step. */
  debug?: boolean;
  guidance?: string;
  /** Another agent than the card has. */
  profile?: string | null;
  /** `head` continues on the branch, `base` begins anew, and a number continues that attempt. */
  start_from?: "head" | "base" | number;
};

export type StepForm = {
  /** For the kind `into`: pause in the function that the step calls, where a debugger can attach. */
  code?: boolean;
  /** Confirm repeating external effects that cannot be undone. */
  external?: boolean;
  kind: "back" | "into" | "out" | "over" | "to";
  step?: string | null;
  /** The stop to act on; 409 if it has ended. */
  stop: number;
};

/** A step of a flow. `parent` is the path of its parent step; lines and columns start at 1. */
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

/** A step type or a control-flow construct: one line, and the full description. `config` is the JSON Schema of its config, for forms; None for a control-flow construct, which contains steps. */
export type StepTypeHelp = {
  config: Record<string, unknown> | null;
  name: string;
  summary: string;
  text: string;
  usage: string;
};

/** A paused frame. `allowed` has the verbs that are possible now; `will_run` is the result of the `if`. `positions` says where a step can be injected: before or after this one. `back` is what a step back would do, and `forward` what undoing the last one would do. `after_event` is its number in the log: what a rewind to it keeps. */
export type StopInfo = {
  after_event: number;
  allowed: string[];
  back: WayInfo | null;
  breakpoints: number[];
  call: ToolCallInfo | null;
  column: number | null;
  end_line: number | null;
  file: string | null;
  forward: WayInfo | null;
  frame: string;
  id: number;
  is_cleanup: boolean;
  is_injected: boolean;
  lease_ends_at: number | null;
  line: number | null;
  notes: string[];
  occurrence: string;
  outcome: OutcomeInfo | null;
  position: "after" | "before" | "error";
  positions: ("after" | "before")[];
  problems: string[];
  reasons: string[];
  step: string;
  will_run: boolean;
};

/** The step fails, and its frame pauses there. A second request kills its command at once. */
export type StopStepForm = {
  reason?: string;
  /** A running step: its occurrence, path or ID. */
  step: string;
};

/** A flow that can be started by name: a file in one of the service's flow folders. */
export type StoredFlow = {
  file: string;
  name: string;
  problem: string | null;
};

export type SwitchForm = {
  enabled: boolean;
};

/** One test of a report: passed, failed, error or skipped. `change` compares it with the run before. A test that was removed has the status `removed`. */
export type TestCase = {
  change: "" | "fixed" | "flaky" | "new" | "removed" | "still_failing";
  message: string;
  name: string;
  seconds: number;
  status: string;
  step: string;
  suite: string;
};

/** The tests of a run that failed or changed, with the newest run that they were compared with. `left_out` is how many more there are. */
export type TestComparison = {
  cases: TestCase[];
  compared_with: ComparedRun | null;
  left_out: number;
  steps: TestedStep[];
};

/** Tests of a branch; `next` is the cursor of the next page, if there is one. */
export type TestPage = {
  next: string | null;
  tests: TestSummary[];
};

/** How one test ended in one run. It is flaky if it both passed and failed in the attempts of its step. */
export type TestResult = {
  at: number;
  fingerprint: string | null;
  is_flaky: boolean;
  message: string;
  milliseconds: number;
  ref: string | null;
  run: string;
  sha: string | null;
  status: string;
};

/** One test in the last runs of a branch. It is in the newest one, which `last_…` is about. It is flaky if it passed and failed on one commit, or turned twice from passing to failing or back. */
export type TestSummary = {
  case: string;
  failed_runs: number;
  flow: string;
  last_at: number;
  last_milliseconds: number;
  last_run: string;
  last_status: string;
  name: string;
  p50_milliseconds: number;
  runs: number;
  state: "failing" | "flaky" | "passing" | "skipped";
  step: string;
  suite: string;
  turns: number;
};

/** The tests of all steps of one run, counted; `failed` includes errors. */
export type TestTotals = {
  at: number;
  failed: number;
  run: string;
  seconds: number;
  sha: string | null;
  skipped: number;
  total: number;
};

/** The test results of one run: how many tests there were, and which failed. */
export type TestedRun = {
  created_at: number;
  failed: number;
  failing: FailingTest[];
  run: string;
  seconds: number;
  skipped: number;
  status: "cancelled" | "failed" | "passed" | "paused" | "pending" | "running" | "timed_out";
  total: number;
};

/** The totals of one step, and the last whole run before it that reported tests of the same step. */
export type TestedStep = {
  compared_with: ComparedRun | null;
  failed: number;
  seconds: number;
  skipped: number;
  step: string;
  total: number;
};

export type TokenForm = {
  /** When the token expires; never by default. */
  lasts_seconds?: number | null;
  name: string;
  /** Restrict a token for git to this repository. */
  repo?: string | null;
  role: "viewer" | "operator";
  /** `git:read` and `git:write` tokens can only be used by git. */
  scope?: "all" | "git:read" | "git:write";
};

/** The owner of a token; the token itself is not stored. */
export type TokenInfo = {
  created_at: number;
  expires_at: number | null;
  name: string;
  repo: string | null;
  role: "operator" | "viewer";
  scope: "all" | "git:read" | "git:write";
};

/** A tool call inside a step. `paths` are the files that it is about, and `command` is that of a shell. `guarantee` says whether the call cannot run while it is held, whatever happens to Pitstop. */
export type ToolCallInfo = {
  call: string;
  command: string | null;
  guarantee: boolean;
  input: Record<string, unknown>;
  name: string;
  parent: string | null;
  paths: string[];
  tool: string;
};

/** A file or folder of a commit. Only files and links have a size, in bytes. */
export type TreeEntry = {
  kind: "file" | "folder" | "link" | "submodule";
  name: string;
  path: string;
  sha: string;
  size: number | null;
};

/** A branch that a result was saved to; `is_merged` if the default branch has all its commits. */
export type TrialBranch = {
  age_seconds: number;
  commit: RefValue;
  is_merged: boolean;
  name: string;
};

/** A trial. The agent began with the commit `sha`; `to_sha` has its changes, and is None if there are none. `ref` is the branch or tag of that commit, and `branch` the one that the result was last saved to. Trials that were created together are a `group`. */
export type TrialInfo = {
  branch: string | null;
  by: string;
  created_at: number;
  ended_at: number | null;
  group: string;
  id: string;
  live: Live;
  profile: string;
  prompt: string;
  reason: string | null;
  ref: string | null;
  repo: string;
  run: string;
  settings: TrialSettings;
  sha: string;
  started_at: number | null;
  state: "cancelled" | "cancelling" | "failed" | "passed" | "queued" | "running";
  to_sha: string | null;
};

/** Trials, newest first, with the beginnings of their prompts; `next` is the cursor of the next page. */
export type TrialPage = {
  next: string | null;
  trials: TrialInfo[];
};

/** What became of a trial: the files that it changed, and how long its run took. */
export type TrialResult = {
  files: ChangedFile[];
  seconds: number | null;
  trial: TrialInfo;
};

/** How an agent is tried. Its result is saved as `save`, if that is a name; with `debug` it pauses at tool calls. `input` is what it works on: all files at `ref`, with only the file at `path` to be changed, or no files at all. */
export type TrialSettings = {
  budget: Record<string, unknown>;
  debug: boolean;
  input: "branch" | "file" | "text";
  model: string | null;
  path: string | null;
  ref: string | null;
  save: string | null;
};

export type UndoForm = {
  /** The stop to act on; 409 if it has ended. */
  stop: number;
};

export type UninjectForm = {
  /** The path of an injected step that has not run. */
  step: string;
  /** The stop to act on; 409 if it has ended. */
  stop: number;
};

export type UnsetForm = {
  layer?: string | null;
  path: string;
  /** The stop to act on; 409 if it has ended. */
  stop: number;
};

export type UnwatchForm = {
  expression: string;
};

export type UpdateBranchForm = {
  /** Resolve conflicts by hand in a paused run, and not by the agent. */
  by_hand?: boolean;
};

/** A card after its base was merged into its branch, or while a run resolves the conflicts. */
export type Updated = {
  card: CardInfo;
  files: Record<string, string>;
  is_clean: boolean;
};

/** One level of a value in a scope. `path` is jq; `size` is the number of children, None for a plain value. `value` is set for a plain value, and truncated when it is long; `preview` is always one line. `bytes` is the size of the whole value as JSON. */
export type VariableInfo = {
  bytes: number | null;
  is_cut: boolean;
  layer: string;
  name: string;
  path: string;
  preview: string;
  set_by: string | null;
  size: number | null;
  type: "array" | "boolean" | "null" | "number" | "object" | "string";
  value: unknown;
};

/** A page of the children of a value; `next` is the cursor of the next page. */
export type VariablePage = {
  next: number | null;
  total: number;
  variables: VariableInfo[];
};

export type WatchForm = {
  expression: string;
};

/** Where a step back, or undoing one, leads, and how many steps it undoes or restores. */
export type WayInfo = {
  occurrence: string;
  position: "after" | "before" | "error";
  restores_files: boolean;
  step: string;
  steps: number;
};

/** All values of a scope. `cut` has the paths of values too large to send; read those page by page. */
export type WholeScope = {
  cut: string[];
  scope: Record<string, unknown>;
};

/** What does the work of a card: an agent, a script, or a flow of the repository; with none of them, people do. `cli`, `model` and `budget` are for an agent, `image` is for an agent or a script, and `inputs` are for a flow. */
export type Work = {
  agent: string | null;
  budget: Record<string, unknown>;
  cli: string | null;
  flow: string | null;
  image: string | null;
  inputs: Record<string, unknown>;
  model: string | null;
  prompt: string;
  run: string | null;
};

/** One of `agent`, `run` and `flow`, or none of them for work that people do. */
export type WorkForm = {
  /** The profile of an agent. */
  agent?: string | null;
  /** Limits of the agent, such as `{cost: 2.0, time: 20m}`. */
  budget?: Record<string, unknown>;
  /** The agent that a profile of the repository runs on. */
  cli?: string | null;
  /** A flow of the repository. */
  flow?: string | null;
  /** The container image for the agent or the script. */
  image?: string | null;
  /** Inputs of the flow. */
  inputs?: Record<string, unknown>;
  model?: string | null;
  /** What to tell the agent in addition to the title and the description. */
  prompt?: string;
  /** A script. */
  run?: string | null;
};

export type WriteForm = {
  branch: string;
  /** The blob hash of the content that was opened; empty if the file must not exist. */
  expect?: string | null;
  message?: string;
  path: string;
  /** The new content; null deletes the file. */
  text?: string | null;
};

/** A commit that Pitstop made on a branch. */
export type Written = {
  branch: string;
  sha: string;
};
