/** The routes of `/api/v1` over recorded runs and pretended ones, inside vite: the page without a Pitstop server. */

import { readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import type { Connect, Plugin } from "vite";
import type { BreakpointRequest, FlowInfo, RunInfo, StepInfo } from "../src/api/types.ts";
import type { RunEvent } from "../src/core/events.ts";
import { parsePath, readPath } from "../src/core/json-path.ts";
import { linesOf, longLog, manySteps, sourceOf, testsOf } from "./example-flows.ts";
import { PretendRun } from "./pretend-run.ts";
import { variablesAt } from "./variables.ts";

type Recording = {
  name: string;
  flow_info: FlowInfo;
  texts: Record<string, string>;
  logs: Record<string, string>;
  events: RunEvent[];
};
type AnyRun = {
  info: () => RunInfo;
  flow: FlowInfo;
  texts: Record<string, string>;
  events: () => RunEvent[];
  live: PretendRun | null;
  log: (occurrence: string) => string[];
};
type Body = Record<string, unknown>;
type Handler = (match: RegExpExecArray, body: Body, query: URLSearchParams, response: ServerResponse) => unknown;

const STREAMS = join(import.meta.dirname, "../../tests/events/streams");

class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
  ) {
    super(detail);
  }
}

export function recordedServer(): Plugin {
  const world = new World();
  const serve: Connect.NextHandleFunction = (request, response, next) => {
    if (!request.url?.startsWith("/api/v1")) return next();
    void world.answer(request, response);
  };
  return {
    name: "pitstop-recorded-server",
    configureServer: (server) => void server.middlewares.use(serve),
    configurePreviewServer: (server) => void server.middlewares.use(serve),
  };
}

class World {
  #runs = new Map<string, AnyRun>();
  #flows = new Map<string, { flow: FlowInfo; texts: Record<string, string> }>();
  #kept = new Map<string, unknown>();
  #routes: [string, RegExp, Handler][] = [];
  #number = 0;

  constructor() {
    for (const file of readdirSync(STREAMS))
      this.#addRecording(JSON.parse(readFileSync(join(STREAMS, file), "utf8")) as Recording);
    this.#addFlow(manySteps(100, 20));
    this.#addFlow(longLog());
    this.#route();
  }

  #addRecording(recording: Recording): void {
    this.#flows.set(recording.flow_info.name, { flow: recording.flow_info, texts: recording.texts });
    const id = `20261104-0${this.#runs.size}1503-${recording.name}`;
    const first = recording.events[0]?.at ?? 0;
    const ended = recording.events.at(-1) as Extract<RunEvent, { kind: "run.ended" }>;
    const shift = Date.now() / 1000 - 3600 * (1 + this.#runs.size) - first;
    const events = recording.events.map((event) => ({ ...event, at: event.at + shift }));
    const info = runInfo(id, recording.flow_info, {
      status: ended.outcome.status as RunInfo["status"],
      created_at: first + shift,
      started_at: first + shift,
      ended_at: ended.at + shift,
      last_event: events.length,
      intervened: recording.events.some(({ kind }) => kind.startsWith("debug.scope") || kind === "debug.rewound"),
    });
    this.#runs.set(id, {
      info: () => info,
      flow: recording.flow_info,
      texts: recording.texts,
      events: () => events,
      live: null,
      log: (occurrence) => (recording.logs[occurrence] ?? "").replace(/\n$/, "").split("\n"),
    });
  }

  #addFlow(flow: FlowInfo): void {
    this.#flows.set(flow.name, { flow, texts: { [flow.file]: sourceOf(flow) } });
  }

  #start(body: Body): RunInfo {
    const named = (body.flow as { name?: string }).name ?? "shop";
    const known = this.#flows.get(named);
    if (!known) throw new Problem(404, "unknown.flow", `there is no flow ${named}`);
    const id = `20261104-1${String(this.#number++).padStart(5, "0")}-live`;
    const isBig = named === "many-steps";
    const run = new PretendRun(id, known.flow, known.texts, (body.inputs as Body) ?? {}, {
      stepSeconds: isBig ? 0.4 : 1,
      failing: new Set(named === "shop-broken" ? ["release"] : []),
      linesOf: (path) => linesOf(named, path),
      debug: body.debug as { breakpoints?: BreakpointRequest[] },
    });
    if (isBig) (run.scope.vars as Body).lanes = Array.from({ length: 100 }, (_, at) => `shard=${at + 1}`);
    const info = () =>
      runInfo(id, known.flow, {
        status: run.status,
        created_at: run.createdAt,
        started_at: run.createdAt,
        ended_at: run.endedAt,
        session: "connected",
        stops: run.state().stops.map((stop) => stop.id),
        last_event: run.events.length,
        inputs: run.inputs,
      });
    this.#runs.set(id, {
      info,
      flow: known.flow,
      texts: known.texts,
      events: () => run.events,
      live: run,
      log: (occurrence) => (run.logs.get(occurrence) ?? []).map((line) => line.text),
    });
    void run.execute();
    return info();
  }

  #route(): void {
    const get = (path: string, handler: Handler) => this.#routes.push(["GET", pattern(path), handler]);
    const on = (method: string, path: string, handler: Handler) => this.#routes.push([method, pattern(path), handler]);
    get("/me", () => ({ name: "you", role: "operator", version: "0.1.0" }));
    get("/runs", (_m, _b, query) => this.#list(query));
    on("POST", "/runs", (_m, body) => this.#start(body));
    get("/runs/:run", (m) => ({ ...this.#run(m).info(), flow_info: this.#run(m).flow, texts: this.#run(m).texts }));
    on("DELETE", "/runs/:run", (m) => void this.#runs.delete(m[1] ?? ""));
    on("POST", "/runs/:run/rerun", (m, body) => this.#start({ ...body, flow: { name: this.#run(m).flow.name } }));
    on("POST", "/runs/:run/cancel", (m) => {
      this.#live(m).abort("cancelled by the user");
      return this.#run(m).info();
    });
    get("/runs/:run/tests", (m) => testsOf(this.#run(m).flow.name));
    get("/runs/:run/tests/history", () => []);
    get("/runs/:run/artifacts", () => [{ path: "dist/shop-1.4.2.zip", size: 48_213, is_folder: false }]);
    get("/runs/:run/questions", () => []);
    get("/runs/:run/log", (m, _b, query) => this.#log(this.#run(m), query));
    get("/runs/:run/debug", (m) => this.#run(m).live?.state() ?? endedState(this.#run(m)));
    get("/runs/:run/debug/breakpoints", (m) => this.#live(m).state().breakpoints);
    on("POST", "/runs/:run/debug/breakpoints", (m, body) => this.#live(m).addBreakpoint(body));
    on("PATCH", "/runs/:run/debug/breakpoints/:id", (m, body) =>
      this.#live(m).addBreakpoint({ ...this.#live(m).breakpoint(Number(m[2]))?.request, ...body }, Number(m[2])),
    );
    on("DELETE", "/runs/:run/debug/breakpoints/:id", (m) => this.#live(m).removeBreakpoint(Number(m[2])));
    on("POST", "/runs/:run/debug/breakpoints/groups/:group", () => ({}));
    get("/runs/:run/debug/variables", (m, _b, query) => variablesAt(this.#live(m).scope, query));
    get("/runs/:run/debug/scope", (m) => ({ scope: this.#live(m).scope, cut: [] }));
    get("/runs/:run/debug/config", (m, _b, query) => this.#config(m, query));
    get("/runs/:run/debug/watches", (m) => this.#watches(m));
    get("/runs/:run/debug/history", (m) => this.#history(m));
    get("/runs/:run/debug/diff", () => [
      { path: ".steps.build.outputs.version", kind: "added", before: null, after: "1.4.2" },
      { path: ".vars.region", kind: "changed", before: "west", after: "north" },
    ]);
    on("POST", "/runs/:run/debug/:verb", (m, body) => this.#command(m, body));
    get("/flows", () =>
      [...this.#flows.values()].map(({ flow }) => ({ name: flow.name, file: flow.file, problem: null })),
    );
    get("/flows/:name", (m) => {
      const known = this.#flows.get(m[1] ?? "");
      return { name: m[1], file: known?.flow.file, text: Object.values(known?.texts ?? {})[0], info: known?.flow };
    });
    get("/flows/:name/breakpoints", (m) => this.#kept.get(m[1] ?? "") ?? []);
    on("PUT", "/flows/:name/breakpoints", (m, body) => {
      this.#kept.set(m[1] ?? "", body);
      return body;
    });
    get("/repos", () => []);
    get("/steps", () => JSON.parse(readFileSync(join(import.meta.dirname, "step-types.json"), "utf8")));
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://localhost");
    const path = url.pathname.slice("/api/v1".length);
    const stream = /^\/runs\/([^/]+)\/(events|output)$/.exec(path);
    if (stream) return this.#stream(stream[1] ?? "", stream[2] === "events", request, response, url.searchParams);
    try {
      const body = (await readBody(request)) as Body;
      for (const [method, route, handler] of this.#routes) {
        const match = method === request.method ? route.exec(path) : null;
        if (match)
          return send(
            response,
            method === "POST" && path === "/runs" ? 201 : 200,
            handler(
              match.map((part) => decodeURIComponent(part)) as unknown as RegExpExecArray,
              body,
              url.searchParams,
              response,
            ),
          );
      }
      throw new Problem(404, "unknown.route", `nothing is at ${path}`);
    } catch (error) {
      const { status, code } = error instanceof Problem ? error : { status: 500, code: "internal" };
      send(response, status, {
        type: "about:blank",
        title: code,
        status,
        code,
        detail: String((error as Error).message),
      });
    }
  }

  #stream(
    id: string,
    isEvents: boolean,
    request: IncomingMessage,
    response: ServerResponse,
    query: URLSearchParams,
  ): void {
    const run = this.#runs.get(id);
    if (!run) {
      send(response, 404, { status: 404, code: "unknown.run", detail: `there is no run ${id}` });
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    if (!isEvents) {
      const stop = run.live?.hear((occurrence, text) =>
        response.write(
          `data: ${JSON.stringify([{ occurrence, stream: "stdout", time: Date.now() / 1000, text }])}\n\n`,
        ),
      );
      response.on("close", () => stop?.());
      return;
    }
    let sent = Number(request.headers["last-event-id"] ?? query.get("after") ?? 0);
    const push = () => {
      const events = run.events();
      let text = "";
      for (; sent < events.length; sent++)
        text += `id: ${sent + 1}\nevent: ${events[sent]?.kind}\ndata: ${JSON.stringify(events[sent])}\n\n`;
      if (text) response.write(text);
      if (events.at(-1)?.kind === "run.ended") response.end("event: end\ndata: {}\n\n");
    };
    const stop = run.live?.listen(push);
    response.on("close", () => stop?.());
    push();
  }

  #run(match: RegExpExecArray): AnyRun {
    const run = this.#runs.get(match[1] ?? "");
    if (!run) throw new Problem(404, "unknown.run", `there is no run ${match[1]}`);
    return run;
  }

  #live(match: RegExpExecArray): PretendRun {
    const { live } = this.#run(match);
    if (!live) throw new Problem(409, "refused.not_running", "the run has ended");
    return live;
  }

  #list(query: URLSearchParams) {
    const runs = [...this.#runs.values()]
      .map((run) => run.info())
      .sort((one, other) => other.created_at - one.created_at);
    const [status, flow, search] = [query.getAll("status"), query.get("flow"), query.get("search")];
    return {
      runs: runs.filter(
        (run) =>
          (status.length === 0 || status.includes(run.status)) &&
          (!flow || run.flow === flow) &&
          (!search || `${run.id} ${run.flow}`.includes(search)),
      ),
      next: null,
    };
  }

  #log(run: AnyRun, query: URLSearchParams) {
    const occurrence = query.get("occurrence") ?? "";
    const [after, limit] = [Number(query.get("after") ?? 0), Number(query.get("limit") ?? 1000)];
    const all = run.log(occurrence);
    const lines = all
      .slice(after, after + limit)
      .map((text, at) => ({ number: after + at + 1, stream: "stdout", time: run.info().created_at, text }));
    return { occurrence, lines, next: after + limit < all.length ? after + limit : null, is_ended: true };
  }

  #config(match: RegExpExecArray, query: URLSearchParams) {
    const live = this.#live(match);
    const step = live.flow.steps.find((each) => each.path === live.stop(Number(query.get("stop")))?.step) as StepInfo;
    const resolved = step.detail.replace(/\$\{\{ (\S+) \}\}/g, (_, path) =>
      String(readPath(live.scope, parsePath(path) ?? [])),
    );
    return {
      raw: { script: step.detail, accept: [0] },
      resolved: { script: resolved, accept: [0] },
      expressions: [...step.detail.matchAll(/\$\{\{ (\S+) \}\}/g)].map((each) => each[1]),
      problems: {},
    };
  }

  #watches(match: RegExpExecArray) {
    const live = this.#live(match);
    return Object.fromEntries(
      live
        .state()
        .watches.map((expression) => [
          expression,
          { value: readPath(live.scope, parsePath(expression) ?? []) ?? null },
        ]),
    );
  }

  #history(match: RegExpExecArray) {
    return this.#live(match)
      .events.filter((event) => event.kind === "step.started")
      .map((event) => ({
        number: event.number,
        frame: event.frame,
        step: event.step,
        occurrence: event.occurrence,
        position: "before",
        at: event.at,
        has_snapshot: event.number % 2 === 0,
      }));
  }

  #command(match: RegExpExecArray, body: Body) {
    const live = this.#live(match);
    const [stop, verb] = [Number(body.stop), match[2]];
    if ("stop" in body && !live.stop(stop))
      throw new Problem(409, "refused.stale_stop", `stop ${stop} has already ended`);
    if (verb === "continue") body.all ? live.continueAll() : live.resume(stop, "continue");
    else if (verb === "step" && body.kind === "back")
      throw new Problem(409, "refused.external_effects", "going back would repeat what cannot be undone: release");
    else if (verb === "step") live.step(stop, String(body.kind), body.step as string);
    else if (verb === "skip") live.resume(stop, "skip", "skip");
    else if (verb === "retry") live.resume(stop, "retry", "retry");
    else if (verb === "pause") live.pause((body.frame as string) ?? null);
    else if (verb === "abort") live.abort(String(body.reason ?? "cancelled by the user"));
    else if (verb === "set") live.edit(stop, String(body.path), body.value);
    else if (verb === "unset") live.edit(stop, String(body.path), null, true);
    else if (verb === "watch" || verb === "unwatch") live.watch(String(body.expression), verb === "watch");
    else if (verb === "evaluate") return this.#evaluate(live, String(body.expression));
    return live.state();
  }

  #evaluate(live: PretendRun, expression: string) {
    const parts = parsePath(expression);
    if (parts === null) throw new Problem(422, "expression", `${expression}: only plain paths are known here`);
    return { values: [readPath(live.scope, parts) ?? null] };
  }
}

function pattern(path: string): RegExp {
  return new RegExp(`^${path.replace(/:\w+/g, "([^/]+)")}$`);
}

function send(response: ServerResponse, status: number, value: unknown): void {
  const type = status >= 400 ? "application/problem+json" : "application/json";
  response
    .writeHead(value === undefined ? 204 : status, { "content-type": type })
    .end(value === undefined ? undefined : JSON.stringify(value));
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text ? JSON.parse(text) : {};
}

function runInfo(id: string, flow: FlowInfo, more: Partial<RunInfo>): RunInfo {
  return {
    id,
    flow: flow.name,
    file: flow.file,
    status: "running",
    created_at: 0,
    started_at: null,
    ended_at: null,
    error: null,
    failures: [],
    intervened: false,
    inputs: {},
    session: "ended",
    stops: [],
    from_run: null,
    from_step: null,
    carried_over: 0,
    last_event: 0,
    priority: 0,
    kept_until: null,
    is_pinned: false,
    commit: null,
    repo: null,
    ref: null,
    started_by: null,
    card: null,
    problem: null,
    ...more,
  };
}

function endedState(run: AnyRun) {
  return {
    session: "ended",
    frames: [],
    stops: [],
    breakpoints: [],
    watches: [],
    edits: [],
    interventions: [],
    last_event: run.events().length,
    is_ended: true,
  };
}
