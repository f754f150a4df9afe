/** A run that only pretends: it walks the steps of a flow, writes the events of a real one, and stops where it is told. */

import type {
  BreakpointInfo,
  BreakpointRequest,
  DebugState,
  FlowInfo,
  RunStatus,
  StepInfo,
  StopInfo,
} from "../src/api/types.ts";
import type { BreakPosition, RunEvent } from "../src/core/events.ts";
import { parsePath, readPath } from "../src/core/json-path.ts";

type Verdict = "proceed" | "skip" | "retry" | "abort";
type Held = { info: StopInfo; decide: (verdict: Verdict) => void };
type Goal = { frame: string; at: string; kind: string; target?: string };
type Frame = {
  id: string;
  name: string;
  parent: string | null;
  state: "running" | "pausing" | "paused" | "done";
  at: string;
};

export type PretendOptions = {
  stepSeconds: number;
  failing: ReadonlySet<string>;
  linesOf: (path: string) => Iterable<string>;
  debug?: { breakpoints?: BreakpointRequest[]; stop_at_entry?: boolean; stop_on_error?: boolean };
};

const LOOK = ["evaluate", "set", "unset", "undo"];
const MOVE = ["continue", "step_into", "step_over", "step_out", "run_to"];

export class PretendRun {
  events: (RunEvent & { schema: number })[] = [];
  logs = new Map<string, { number: number; stream: "stdout"; time: number; text: string }[]>();
  scope: Record<string, unknown>;
  createdAt = Date.now() / 1000;
  endedAt: number | null = null;
  status: RunStatus = "pending";
  #frames = new Map<string, Frame>();
  #held = new Map<number, Held>();
  #breakpoints = new Map<number, BreakpointInfo>();
  #watches: string[] = [];
  #goals: Goal[] = [];
  #edits: DebugState["edits"] = [];
  #interventions: string[] = [];
  #listeners = new Set<() => void>();
  #hearers = new Set<(occurrence: string, text: string) => void>();
  #nextStop = 1;
  #nextBreakpoint = 1;
  #isAborted = false;
  #entryDue: boolean;

  constructor(
    readonly id: string,
    readonly flow: FlowInfo,
    readonly texts: Record<string, string>,
    readonly inputs: Record<string, unknown>,
    private options: PretendOptions,
  ) {
    this.scope = {
      inputs,
      vars: { region: "west", sizes: [12, 28, 7], owner: { name: "shop team", on_call: true } },
      env: { PATH: "/usr/bin" },
      steps: {},
      run: { id, flow: flow.name },
      trigger: {},
    };
    this.#entryDue = options.debug?.stop_at_entry ?? false;
    for (const request of options.debug?.breakpoints ?? []) this.addBreakpoint(request);
    if (options.debug?.stop_on_error ?? true) this.addBreakpoint({ position: "error", group: "default" });
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  hear(hearer: (occurrence: string, text: string) => void): () => void {
    this.#hearers.add(hearer);
    return () => this.#hearers.delete(hearer);
  }

  async execute(): Promise<void> {
    this.status = "running";
    this.#tell({ kind: "run.started", plan: this.flow.name, inputs: this.scope });
    this.#open("main", this.flow.name, null, "");
    const status = await this.#sequence(this.#childrenOf(null), null, "", "main");
    this.#tell({ kind: "frame.ended", frame: "main", reason: null });
    this.status = this.#isAborted ? "cancelled" : status === "failed" ? "failed" : "passed";
    this.endedAt = Date.now() / 1000;
    this.#tell({ kind: "run.ended", outcome: outcome(this.status) });
  }

  // The steps

  #childrenOf(path: string | null): StepInfo[] {
    return this.flow.steps.filter((step) => step.parent === path);
  }

  async #sequence(steps: StepInfo[], parent: string | null, base: string, frame: string): Promise<string> {
    let result = "passed";
    for (const step of steps) {
      if ((result === "failed" || this.#isAborted) && !step.is_cleanup) continue;
      const local = parent ? step.path.slice(parent.length + 1) : step.path;
      if ((await this.#step(step, base ? `${base}.${local}` : local, frame)) === "failed") result = "failed";
    }
    return result;
  }

  async #step(step: StepInfo, base: string, frame: string): Promise<string> {
    for (let attempt = 1; ; attempt++) {
      const occurrence = attempt === 1 ? base : `${base}#${attempt}`;
      const on = { frame, step: step.path, occurrence };
      const before = attempt === 1 ? await this.#checkpoint("before", step, occurrence, frame) : "proceed";
      if (this.#isAborted && !step.is_cleanup) return "cancelled";
      if (before === "skip") {
        this.#interventions.push(`skipped ${step.path}`);
        this.#tell({ kind: "debug.outcome_forced", stop: 0, verb: "skip", ...on, outcome: outcome("skipped") });
        return "skipped";
      }
      this.#tell({ kind: "step.started", ...on });
      const status = await this.#act(step, occurrence, frame);
      this.#tell({ kind: "step.finished", ...on, outcome: outcome(status, step.path) });
      (this.scope.steps as Record<string, unknown>)[step.id ?? step.path] = {
        status,
        outputs: { exit_code: status === "failed" ? 3 : 0 },
      };
      const verdict = await this.#checkpoint(status === "failed" ? "error" : "after", step, occurrence, frame);
      if (verdict !== "retry") return status;
      this.#tell({ kind: "step.retried", ...on, by_hand: true });
    }
  }

  async #act(step: StepInfo, occurrence: string, frame: string): Promise<string> {
    const children = this.#childrenOf(step.path);
    if (step.kind === "parallel") {
      const branches = children.map((child) => ({
        child,
        address: `${occurrence}.${child.path.slice(step.path.length + 1)}`,
      }));
      for (const { child, address } of branches) this.#open(address, child.title, frame, occurrence);
      return worst(
        await Promise.all(
          branches.map(({ child, address }) => this.#inFrame(address, () => this.#step(child, address, address))),
        ),
      );
    }
    if (step.kind === "matrix") {
      const names = (this.scope.vars as { lanes?: string[] }).lanes ?? [
        "python=3.11, db=sqlite",
        "python=3.11, db=postgres",
        "python=3.13, db=sqlite",
      ];
      names.forEach((name, at) => {
        this.#open(`${occurrence}[${at}]`, name, frame, occurrence);
      });
      return worst(
        await Promise.all(
          names.map((_, at) =>
            this.#inFrame(`${occurrence}[${at}]`, () =>
              this.#sequence(children, step.path, `${occurrence}[${at}]`, `${occurrence}[${at}]`),
            ),
          ),
        ),
      );
    }
    if (step.kind === "repeat") {
      for (let turn = 0; turn < 3; turn++) await this.#sequence(children, step.path, `${occurrence}[${turn}]`, frame);
      return "passed";
    }
    if (children.length > 0) return this.#sequence(children, step.path, occurrence, frame);
    await this.#write(step, occurrence);
    const isFailing =
      this.options.failing.has(step.path) && (this.scope.vars as Record<string, unknown>).region !== "south";
    return isFailing ? "failed" : "passed";
  }

  async #write(step: StepInfo, occurrence: string): Promise<void> {
    const kept: { number: number; stream: "stdout"; time: number; text: string }[] = [];
    this.logs.set(occurrence, kept);
    let batch = "";
    let until = Date.now() + this.options.stepSeconds * 1000 * (0.5 + Math.random());
    for (const text of this.options.linesOf(step.path)) {
      kept.push({ number: kept.length + 1, stream: "stdout", time: Date.now() / 1000, text });
      batch += `${text}\n`;
      if (kept.length % 250 === 0) {
        for (const hearer of this.#hearers) hearer(occurrence, batch);
        batch = "";
        await wait(50);
        until = Date.now();
      }
    }
    for (const hearer of this.#hearers) hearer(occurrence, batch);
    while (Date.now() < until && !this.#isAborted) await wait(20);
  }

  #open(id: string, name: string, parent: string | null, step: string): void {
    const isPausing = parent !== null && this.#frames.get(parent)?.state === "pausing";
    this.#frames.set(id, { id, name, parent, state: isPausing ? "pausing" : "running", at: "" });
    this.#tell({ kind: "frame.opened", frame: id, name, parent, step });
  }

  async #inFrame(id: string, body: () => Promise<string>): Promise<string> {
    const status = await body();
    (this.#frames.get(id) as Frame).state = "done";
    this.#tell({ kind: "frame.ended", frame: id, reason: null });
    return status;
  }

  // The debugger

  async #checkpoint(position: BreakPosition, step: StepInfo, occurrence: string, frame: string): Promise<Verdict> {
    const known = this.#frames.get(frame) as Frame;
    known.at = step.path;
    const hits = [...this.#breakpoints.values()].filter(({ request }) => matches(request, position, step));
    for (const hit of hits) {
      hit.hit_count++;
      this.#tell({ kind: "debug.breakpoint_hit", breakpoint: hit.id, hits: hit.hit_count, occurrence });
    }
    const problems = hits.filter(
      ({ request }) => request.condition && parsePath(request.condition.split(/ [=<>!]/)[0] ?? "") === null,
    );
    const stopping = hits.filter(({ request }) => !request.log);
    const goals = position === "before" ? this.#goals.filter((goal) => this.#isMet(goal, occurrence, frame)) : [];
    const reasons = [
      ...(this.#entryDue && position === "before" ? ["entry"] : []),
      ...(known.state === "pausing" ? ["pause"] : []),
      ...(stopping.length > 0 ? [position === "error" ? "failure" : "breakpoint"] : []),
      ...(goals.length > 0 ? ["step"] : []),
    ];
    if (reasons.length === 0 || this.#isAborted) return "proceed";
    this.#entryDue = false;
    this.#goals = this.#goals.filter((goal) => !goals.includes(goal) && goal.frame !== frame);
    known.state = "paused";
    const stop = this.#nextStop++;
    const verbs =
      position === "before"
        ? ["skip", "force", "config", "inject", "rewind"]
        : ["retry", "force", "config", "inject", "rewind"];
    const info: StopInfo = {
      id: stop,
      frame,
      step: step.path,
      occurrence,
      position,
      reasons,
      breakpoints: stopping.map(({ id }) => id),
      problems: problems.map(
        ({ id, request }) => `breakpoint ${id}: ${request.condition}: syntax error, unexpected end of file`,
      ),
      outcome:
        position === "before"
          ? null
          : {
              status: position === "error" ? "failed" : "passed",
              outputs: { exit_code: 3 },
              error_type: "ExitCode",
              error: "the script ended with exit code 3",
              paused_seconds: 0,
            },
      notes: [],
      allowed: [...MOVE, ...verbs, ...LOOK],
      positions: position === "before" ? ["before", "after"] : ["after"],
      will_run: true,
      is_cleanup: step.is_cleanup,
      is_injected: false,
      file: step.file,
      line: step.line,
      column: step.column,
      end_line: step.end_line,
      after_event: this.events.length,
      lease_ends_at: Date.now() / 1000 + 3600,
      back: null,
      forward: null,
      call: null,
    };
    const verdict = new Promise<Verdict>((decide) => this.#held.set(stop, { info, decide }));
    this.status = "paused";
    this.#tell({
      kind: "debug.stopped",
      stop,
      frame,
      step: step.path,
      occurrence,
      position,
      positions: position === "before" ? ["before", "after"] : ["after"],
      reasons,
      breakpoints: info.breakpoints,
      problems: info.problems,
    });
    const decided = await verdict;
    this.#edits = this.#edits.filter((edit) => edit.stop !== stop);
    return decided;
  }

  #isMet(goal: Goal, occurrence: string, frame: string): boolean {
    if (goal.kind === "to") return goal.target === occurrence;
    const isInside = (outer: string) => occurrence.startsWith(`${outer}.`) || occurrence.startsWith(`${outer}[`);
    if (goal.kind === "into") return isInside(goal.at) || this.#isAtOrAbove(frame, goal.frame);
    if (goal.kind === "over") return !isInside(goal.at) && this.#isAtOrAbove(frame, goal.frame);
    const parent = goal.at.slice(0, Math.max(0, goal.at.lastIndexOf(".")));
    return this.#isAtOrAbove(frame, goal.frame) && (parent === "" || !isInside(parent));
  }

  #isAtOrAbove(frame: string, below: string | null): boolean {
    for (let each = below; each; each = this.#frames.get(each)?.parent ?? null) if (each === frame) return true;
    return false;
  }

  stop(id: number): StopInfo | null {
    return this.#held.get(id)?.info ?? null;
  }

  resume(stop: number, verb: string, verdict: Verdict = "proceed"): void {
    const held = this.#held.get(stop) as Held;
    this.#held.delete(stop);
    (this.#frames.get(held.info.frame) as Frame).state = "running";
    if (this.#held.size === 0) this.status = "running";
    this.#tell({ kind: "debug.resumed", stop, frame: held.info.frame, verb });
    held.decide(verdict);
  }

  step(stop: number, kind: string, target?: string): void {
    const { frame, occurrence } = (this.#held.get(stop) as Held).info;
    this.#goals.push({ frame, at: occurrence, kind, target });
    this.resume(stop, `step_${kind}`);
  }

  continueAll(): void {
    this.#tell({ kind: "debug.all_continued" });
    for (const stop of [...this.#held.keys()]) this.resume(stop, "continue");
  }

  pause(frame: string | null): void {
    for (const each of this.#frames.values()) {
      if (each.state === "running" && (frame === null || frame === each.id)) each.state = "pausing";
    }
    this.#tell({ kind: "debug.pause_asked", frame });
  }

  abort(reason: string): void {
    this.#isAborted = true;
    this.#tell({ kind: "debug.aborted", reason });
    for (const stop of [...this.#held.keys()]) this.resume(stop, "abort", "abort");
  }

  addBreakpoint(request: BreakpointRequest, id = this.#nextBreakpoint++): BreakpointInfo {
    const paths = this.flow.steps
      .filter((step) => matches({ ...request, enabled: true }, request.position ?? "before", step))
      .map(({ path }) => path);
    const full: BreakpointInfo["request"] = {
      step: null,
      kind: null,
      file: null,
      line: null,
      tool: null,
      path: null,
      position: "before",
      note: null,
      condition: null,
      hits: null,
      log: null,
      once: false,
      enabled: true,
      group: null,
      state: null,
      equals: null,
      has_equals: false,
      ...request,
    };
    const info = { id, request: full, hit_count: this.#breakpoints.get(id)?.hit_count ?? 0, paths };
    this.#breakpoints.set(id, info);
    this.#tell({ kind: "debug.breakpoint_set", breakpoint: { id, ...request } });
    return info;
  }

  breakpoint(id: number): BreakpointInfo | null {
    return this.#breakpoints.get(id) ?? null;
  }

  removeBreakpoint(id: number): void {
    this.#breakpoints.delete(id);
    this.#tell({ kind: "debug.breakpoint_removed", breakpoint: id });
  }

  watch(expression: string, isOn: boolean): void {
    this.#watches = [...this.#watches.filter((each) => each !== expression), ...(isOn ? [expression] : [])];
    this.#tell({ kind: "debug.watches_changed", watches: this.#watches });
  }

  edit(stop: number, path: string, value: unknown, removes = false): void {
    const parts = parsePath(path) ?? [];
    const { frame, step, occurrence, position } = (this.#held.get(stop) as Held).info;
    const parent = readPath(this.scope, parts.slice(0, -1)) as Record<string, unknown>;
    const name = String(parts.at(-1));
    if (removes) delete parent[name];
    else parent[name] = value;
    this.#edits.push({ stop, layer: "run", path, value, preview: JSON.stringify(value), is_cut: false, removes });
    this.#interventions.push(`set ${path} at ${step}`);
    this.#tell({
      kind: "debug.scope_edited",
      stop,
      frame,
      step,
      occurrence,
      position,
      layer: "run",
      path: parts,
      value,
      removes,
    });
  }

  state(): DebugState {
    return {
      session: this.endedAt ? "ended" : "connected",
      frames: [...this.#frames.values()].map(({ at, ...frame }) => ({
        ...frame,
        step: at || null,
        occurrence: at || null,
      })),
      stops: [...this.#held.values()].map(({ info }) => info),
      breakpoints: [...this.#breakpoints.values()],
      watches: this.#watches,
      edits: this.#edits,
      interventions: this.#interventions,
      last_event: this.events.length,
      is_ended: this.endedAt !== null,
      injected: [],
      is_muted: false,
    };
  }

  #tell(event: Record<string, unknown>): void {
    this.events.push({
      schema: 1,
      number: this.events.length + 1,
      at: Date.now() / 1000,
      ...event,
    } as unknown as RunEvent & { schema: number });
    for (const listener of this.#listeners) listener();
  }
}

function matches(request: BreakpointRequest, position: BreakPosition, step: StepInfo): boolean {
  if (request.enabled === false || (request.position ?? "before") !== position) return false;
  if (request.step) return request.step === step.path || request.step === step.id;
  if (request.kind) return request.kind === step.kind;
  if (request.line) return request.line === step.line;
  return position === "error";
}

function outcome(status: string, origin = "") {
  const error =
    status === "failed"
      ? { type: "ExitCode", message: "the script ended with exit code 3", origin, trace: null }
      : null;
  return { status, outputs: status === "passed" ? { exit_code: 0 } : null, error, paused_seconds: 0 };
}

function worst(statuses: string[]): string {
  return statuses.includes("failed") ? "failed" : "passed";
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
