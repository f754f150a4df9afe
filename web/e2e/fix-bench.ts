/** A run with a fix loop that the browser is told of, in place of the server: its events, its stop and its files. */

import type { Page } from "playwright-core";
import { numbered } from "../src/core/recorded-fix.ts";
import type { RunDriver, Stage } from "./stage.ts";

type Told = Record<string, unknown>;
type Pretended = { run: string; detail: Told; events: Told[]; files: Record<string, string> };

const step = (path: string, kind = "run", parent: string | null = null): Told => ({
  ...{
    path,
    kind,
    parent,
    id: null,
    title: path.split(".").at(-1),
    file: "shop.yaml",
    line: 1,
    column: 1,
    end_line: 1,
  },
  ...{ condition: null, is_cleanup: false, detail: "", retries: 0, goes_on_after_failure: false },
});
const LOCAL = { test: "run", diagnose: "agent", fix: "agent" };
const STEPS = [
  step("build"),
  step("tests", "fix"),
  ...Object.entries(LOCAL).map(([name, kind]) => step(`tests.${name}`, kind, "tests")),
];

/** Open the page of a run as if these were its events; the rest of what it asks for is that of a real run. */
export async function openFix(stage: Stage, events: Told[], files: Record<string, string> = {}): Promise<RunDriver> {
  const real = await stage.openRun("login");
  await real.endsAs("passed");
  await real.close();
  const { request } = stage.context;
  const detail = (await (await request.get(`${stage.server.origin}/api/v1/runs/${real.id}`)).json()) as Told & {
    flow_info: Told;
  };
  const told = numbered(events) as unknown as Told[];
  const now = { status: "running", ended_at: null, last_event: told.length, session: "connected" };
  const page = await stage.context.newPage();
  await page.addInitScript(pretend, {
    run: real.id,
    detail: { ...detail, ...now, flow_info: { ...detail.flow_info, steps: STEPS } },
    events: told,
    files,
  });
  await page.goto(`${stage.server.origin}/runs/${real.id}`);
  return Object.assign(real, { page });
}

/** What was said to the debugger. */
export const said = (page: Page): Promise<[verb: string, body: Told][]> =>
  page.evaluate(() => (window as unknown as { said: [string, Told][] }).said);

/** In the page: answer for the run, and let it go on. */
function pretend({ run, detail, events, files }: Pretended): void {
  const said: [string, Told][] = [];
  let push: (event: Told) => void = () => undefined;
  const tell = (event: Told) => {
    const next = { at: Date.now() / 1000, ...event, number: events.length + 1 };
    events.push(next);
    push(next);
  };
  Object.assign(window, { said, tell });
  const stop = events.findLast((event) => event.kind === "debug.stopped");
  const state = () => ({
    ...{ session: "connected", frames: [], stops: [], breakpoints: [], watches: [], edits: [], injected: [] },
    ...{ interventions: [], is_ended: false, is_muted: false, last_event: events.length },
  });
  const decide = (verb: string, body: Told) => {
    said.push([verb, body]);
    if (verb === "decide") tell({ ...stop, kind: "debug.step_decided", by: "ada", ...body });
    if (verb !== "decide" || body.choice !== "take_over") tell({ ...stop, kind: "debug.resumed", verb });
    return state();
  };
  const stream = () =>
    new ReadableStream({
      start(controller) {
        const encoder = new TextEncoder();
        push = (event) => controller.enqueue(encoder.encode(`id: ${event.number}\ndata: ${JSON.stringify(event)}\n\n`));
        for (const event of events) push(event);
      },
    });
  const answer = (path: string, sent?: RequestInit): unknown => {
    if (path === "") return detail;
    if (path === "/artifacts") return Object.keys(files).map((each) => ({ path: each, size: 1, is_folder: false }));
    if (path === "/debug") return state();
    const verb = /^\/debug\/(\w+)$/.exec(path)?.[1];
    return verb && sent?.method === "POST" ? decide(verb, JSON.parse(String(sent.body))) : undefined;
  };
  const real = window.fetch;
  window.fetch = async (input, sent) => {
    const { pathname } = new URL(String(input), location.origin);
    const own = `/api/v1/runs/${run}`;
    if (!pathname.startsWith(own)) return real(input, sent);
    const path = pathname.slice(own.length);
    if (path === "/events") return new Response(stream());
    const file = path.startsWith("/artifacts/")
      ? files[decodeURIComponent(path.slice("/artifacts/".length))]
      : undefined;
    if (file !== undefined) return new Response(file);
    const told = answer(path, sent);
    return told === undefined ? real(input, sent) : Response.json(told);
  };
}
