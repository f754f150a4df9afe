/** What the server says and is told under `/api/v1`, by the names that the page uses: all of it is generated. */

import type * as server from "@/api/generated";
import type { Schema } from "@/core/schema-form";

export type {
  ApprovalForm,
  ArtifactInfo,
  AttemptDetail,
  AttemptInfo,
  Board,
  Branch,
  BranchPage,
  BreakpointInfo,
  CardChangesForm,
  CardInfo,
  CardMoveForm,
  CardPreview,
  CardSummary,
  ChangedFile,
  ChangeInfo,
  Column,
  CommitEntry,
  CommitInfo,
  CommitPage,
  Comparison,
  ConfigInfo,
  Conflict,
  ConflictFile,
  ContextInfo,
  DebugState,
  DecideForm,
  Delivered,
  DeliveryInfo,
  Diff,
  EditInfo,
  Failure,
  FileChangeInfo,
  FileChanges,
  FileContent,
  FileDiff,
  FiringInfo,
  FlowInfo,
  Folder,
  FrameInfo,
  HistoryPage,
  HookInfo,
  InjectedInfo,
  InputInfo,
  Live,
  LogLine,
  LogPage,
  Me,
  NewCardForm,
  NewNoteForm,
  NewTrialForm,
  NoteInfo,
  OutcomeInfo,
  Patch,
  PointInfo,
  PushInfo,
  PushPage,
  Question,
  RejectionForm,
  RepoFlowInfo,
  RepoFlowText,
  RepoInfo,
  RunDetail,
  RunInfo,
  RunPage,
  ShellForm,
  ShellToken,
  StartCardForm,
  StepInfo,
  StopInfo,
  StoredFlow,
  TestCase,
  TestedRun,
  TestPage,
  TestResult,
  TestSummary,
  TestTotals,
  ToolCallInfo,
  TreeEntry,
  TrialBranch,
  TrialInfo,
  TrialPage,
  UpdateBranchForm,
  Updated,
  VariableInfo,
  VariablePage,
  WayInfo,
  Work,
  WorkForm,
} from "@/api/generated";

export type RunStatus = server.RunInfo["status"];
export type BreakpointRequest = server.BreakpointForm;
export type DebugRequest = server.DebugForm;
export type RunRequest = server.RunForm;
export type NewRepoRequest = server.NewRepoForm;
export type NewHookRequest = server.HookForm;
export type HookProvider = server.HookInfo["provider"];
export type RepoChangesRequest = server.RepoChangesForm;
export type RerunRequest = server.RerunForm;
export type FlowText = server.FlowDetail;
export type FlowCheck = server.CheckedFlow;
export type Mistake = server.Mistake;
export type StepTypeHelp = Omit<server.StepTypeHelp, "config"> & { config: Schema | null };
export type WatchValue = { value: unknown } | { error: string };
export type StepKind = server.StepForm["kind"];

/** Each verb of `POST /runs/{run}/debug/{verb}` with its body. */
export type DebugVerbs = {
  continue: server.ContinueForm;
  pause: server.PauseForm;
  step: server.StepForm;
  skip: server.SkipForm;
  retry: server.RetryForm;
  decide: server.DecideForm;
  force: server.ForceForm;
  inject: server.InjectForm;
  uninject: server.UninjectForm;
  mute: server.MuteForm;
  cancel_pause: server.CancelPauseForm;
  stop_step: server.StopStepForm;
  set: server.SetForm;
  unset: server.UnsetForm;
  undo: server.UndoForm;
  config: server.ConfigForm;
  rewind: server.RewindForm;
  forward: server.ForwardForm;
  restart: server.RestartForm;
  goto: server.GotoForm;
  abort: server.AbortForm;
  extend: server.ExtendForm;
  watch: server.WatchForm;
  unwatch: server.UnwatchForm;
};

export type DebugVerb = keyof DebugVerbs;

/** RFC 9457, with the stable code of `errors.py`; a flow that cannot run has its mistakes. */
export type ProblemDetails = Partial<server.Problem> & {
  status: number;
  detail: string;
  code: string;
  mistakes?: Mistake[];
};
