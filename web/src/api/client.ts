/** The one place that asks the server: a typed function per route of `/api/v1`. */

import { send } from "@/api/early";
import type {
  ArtifactInfo,
  BreakpointInfo,
  BreakpointRequest,
  ChangeInfo,
  ConfigInfo,
  ContextInfo,
  DebugState,
  DebugVerb,
  DebugVerbs,
  FileChanges,
  FileDiff,
  FlowCheck,
  FlowInfo,
  FlowText,
  LogPage,
  Me,
  PointInfo,
  ProblemDetails,
  Question,
  RerunRequest,
  RunDetail,
  RunInfo,
  RunPage,
  RunRequest,
  ShellForm,
  ShellToken,
  StepTypeHelp,
  StoredFlow,
  TestCase,
  TestedRun,
  VariablePage,
  WatchValue,
} from "@/api/types";
import { API, runPath, urlOf } from "@/api/url";
import { noteAsking } from "@/api/visitor";

/** What the server refused, with its stable code; `code` is "offline" when it could not be reached. */
export class ApiError extends Error {
  constructor(readonly problem: ProblemDetails) {
    super(problem.detail || problem.title || `HTTP ${problem.status}`);
    this.name = "ApiError";
  }

  get code(): string {
    return this.problem.code;
  }

  get isStale(): boolean {
    return this.code === "refused.stale_stop";
  }

  get asksForExternal(): boolean {
    return this.code === "refused.external_effects";
  }

  get isOffline(): boolean {
    return this.code === "offline";
  }

  /** The same question may be answered in a moment: the server was not reached, or had too much to do. */
  get isPassing(): boolean {
    return this.isOffline || this.problem.status === 429 || this.problem.status === 503;
  }
}

type Sent = { method?: string; body?: unknown; headers?: Record<string, string>; signal?: AbortSignal };

export async function ask<T>(url: string, sent?: Sent): Promise<T> {
  const response = await answerTo(url, sent);
  return response.status === 204 ? (undefined as T) : ((await response.json()) as T);
}

async function answerTo(url: string, { method = "GET", body, headers, signal }: Sent = {}): Promise<Response> {
  const note = noteAsking();
  let response: Response;
  try {
    response = await send(url, {
      method,
      signal,
      headers: {
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError({ status: 0, code: "offline", detail: "Cannot reach the server." });
  }
  note(response.status);
  if (!response.ok) throw new ApiError(await readProblem(response));
  return response;
}

async function readProblem(response: Response): Promise<ProblemDetails> {
  const told = (await response.json().catch(() => null)) as Partial<ProblemDetails> | null;
  const detail = told?.detail ?? `The server answered with ${response.status}.`;
  return { ...told, status: response.status, code: told?.code ?? `http.${response.status}`, detail };
}

export const post = <T>(url: string, body: unknown = {}, headers?: Record<string, string>) =>
  ask<T>(url, { method: "POST", body, headers });

export const api = {
  me: () => ask<Me>(urlOf("/me")),

  runs: (query: {
    status?: readonly string[];
    flow?: string;
    repo?: string;
    ref?: string;
    search?: string;
    cursor?: string | null;
    limit?: number;
  }) => ask<RunPage>(urlOf("/runs", query)),
  run: (run: string) => ask<RunDetail>(urlOf(runPath(run))),
  start: (request: RunRequest, idempotencyKey: string) =>
    post<RunInfo>(urlOf("/runs"), request, { "idempotency-key": idempotencyKey }),
  rerun: (run: string, request: RerunRequest) => post<RunInfo>(urlOf(runPath(run, "/rerun")), request),
  cancel: (run: string, now = false) => post<RunInfo>(urlOf(runPath(run, "/cancel")), { now }),
  pin: (run: string, pinned: boolean) => post<RunInfo>(urlOf(runPath(run, "/pin")), { pinned }),
  remove: (run: string) => ask<void>(urlOf(runPath(run)), { method: "DELETE" }),

  log: (
    run: string,
    query: { occurrence: string; after?: number; limit?: number; search?: string },
    signal?: AbortSignal,
  ) => ask<LogPage>(urlOf(runPath(run, "/log"), query), { signal }),
  logDownload: (run: string, occurrence: string) => urlOf(runPath(run, "/log/download"), { occurrence }),
  tests: (run: string) => ask<TestCase[]>(urlOf(runPath(run, "/tests"))),
  testHistory: (run: string) => ask<TestedRun[]>(urlOf(runPath(run, "/tests/history"))),
  artifacts: (run: string) => ask<ArtifactInfo[]>(urlOf(runPath(run, "/artifacts"))),
  artifactUrl: (run: string, path: string) =>
    `${API}${runPath(run, "/artifacts/")}${path.split("/").map(encodeURIComponent).join("/")}`,
  artifactText: async (run: string, path: string) =>
    (await answerTo(api.artifactUrl(run, path), { headers: { accept: "*/*" } })).text(),
  questions: (run: string) => ask<Question[]>(urlOf(runPath(run, "/questions"))),
  answer: (run: string, occurrence: string, approved: boolean, comment: string) =>
    post<void>(urlOf(runPath(run, `/questions/${encodeURIComponent(occurrence)}`)), { approved, comment }),

  debug: (run: string) => ask<DebugState>(urlOf(runPath(run, "/debug"))),
  detach: (run: string) => ask<void>(urlOf(runPath(run, "/debug")), { method: "DELETE" }),
  command: <V extends DebugVerb>(run: string, verb: V, body: DebugVerbs[V]) =>
    post<DebugState>(urlOf(runPath(run, `/debug/${verb}`)), body),
  evaluate: async (run: string, stop: number, expression: string) =>
    (await post<{ values: unknown[] }>(urlOf(runPath(run, "/debug/evaluate")), { stop, expression })).values,
  variables: (
    run: string,
    query: {
      stop: number;
      path?: string;
      cursor?: number;
      limit?: number;
      search?: string;
      sort?: "order" | "bytes";
    },
    signal?: AbortSignal,
  ) => ask<VariablePage>(urlOf(runPath(run, "/debug/variables"), query), { signal }),
  config: (run: string, stop: number) => ask<ConfigInfo>(urlOf(runPath(run, "/debug/config"), { stop })),
  watches: (run: string, stop: number) =>
    ask<Record<string, WatchValue>>(urlOf(runPath(run, "/debug/watches"), { stop })),
  history: (run: string) => ask<PointInfo[]>(urlOf(runPath(run, "/debug/history"))),
  diff: (run: string, query: { stop: number } | { from: number; to: number }) =>
    ask<ChangeInfo[]>(urlOf(runPath(run, "/debug/diff"), query)),
  fileChanges: (run: string, query: { from: number; to?: number }) =>
    ask<FileChanges>(urlOf(runPath(run, "/debug/files"), { ...query, limit: 200 })),
  fileDiff: (run: string, query: { path: string; from: number; to?: number }) =>
    ask<FileDiff>(urlOf(runPath(run, "/debug/files/diff"), query)),
  context: (run: string, stop: number) => ask<ContextInfo>(urlOf(runPath(run, "/debug/context"), { stop })),
  exportUrl: (run: string) => urlOf(runPath(run, "/debug/export")),

  addBreakpoint: (run: string, request: BreakpointRequest) =>
    post<BreakpointInfo>(urlOf(runPath(run, "/debug/breakpoints")), request),
  changeBreakpoint: (run: string, id: number, request: BreakpointRequest) =>
    ask<BreakpointInfo>(urlOf(runPath(run, `/debug/breakpoints/${id}`)), { method: "PATCH", body: request }),
  removeBreakpoint: (run: string, id: number) =>
    ask<void>(urlOf(runPath(run, `/debug/breakpoints/${id}`)), { method: "DELETE" }),
  clearBreakpoints: (run: string) => ask<void>(urlOf(runPath(run, "/debug/breakpoints")), { method: "DELETE" }),
  enableGroup: (run: string, group: string, enabled: boolean) =>
    post<void>(urlOf(runPath(run, `/debug/breakpoints/groups/${encodeURIComponent(group)}`)), { enabled }),

  shellToken: (run: string, shell: ShellForm) => post<ShellToken>(urlOf(runPath(run, "/shell-tokens")), shell),
  shellUrl: (run: string, token: string, rows: number, cols: number) =>
    `${location.origin.replace(/^http/, "ws")}${urlOf(runPath(run, "/shell"), { token, rows, cols })}`,

  flows: () => ask<StoredFlow[]>(urlOf("/flows")),
  flow: (name: string) => ask<FlowText>(urlOf(`/flows/${encodeURIComponent(name)}`)),
  check: (flow: { text: string; name?: string } | { name: string }) => post<FlowCheck>(urlOf("/flows/check"), flow),
  resolve: (request: RunRequest) => post<FlowInfo>(urlOf("/flows/resolve"), request),
  flowBreakpoints: (name: string) => ask<BreakpointRequest[]>(urlOf(`/flows/${encodeURIComponent(name)}/breakpoints`)),
  keepFlowBreakpoints: (name: string, breakpoints: BreakpointRequest[]) =>
    ask<void>(urlOf(`/flows/${encodeURIComponent(name)}/breakpoints`), { method: "PUT", body: breakpoints }),
  stepTypes: () => ask<StepTypeHelp[]>(urlOf("/steps")),
};
