import { expect, test, vi } from "vitest";
import { LiveRun } from "@/api/live-run";

const PATIENCE = 30_000; // milliseconds
const DEBUG = { stops: [], breakpoints: [], edits: [], frames: [], last_event: 0 };

/** A server whose stream of events is written by hand. */
function serve() {
  const encoder = new TextEncoder();
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  vi.stubGlobal("fetch", async (url: string) => {
    if (!url.includes("/events")) return new Response(JSON.stringify(DEBUG));
    return new Response(
      new ReadableStream<Uint8Array>({
        start: (controller) => {
          stream = controller;
        },
      }),
    );
  });
  return (...events: object[]) =>
    stream?.enqueue(encoder.encode(events.map((each) => `data: ${JSON.stringify(each)}\n\n`).join("")));
}

const started = { kind: "run.started", number: 1, at: 0, plan: "p", inputs: {} };
const opened = { kind: "frame.opened", number: 2, at: 0, frame: "main", name: "shop", parent: null, step: null };
const stopped = {
  kind: "debug.stopped",
  number: 3,
  at: 0,
  stop: 1,
  frame: "main",
  step: "build",
  occurrence: "build",
  position: "before",
  reasons: ["entry"],
  breakpoints: [],
  problems: [],
};

test("what there was when the page was asked for is drawn in one go", async () => {
  const send = serve();
  const run = new LiveRun("r1", 3);
  const seen: (number | null)[] = [];
  const stop = run.subscribe(() => seen.push(run.snapshot().isLoaded ? run.snapshot().stops.length : null));
  await vi.waitFor(() => expect(run.snapshot().connection).toBe("live"), PATIENCE);
  send(started, opened);
  await vi.waitFor(() => expect(run.snapshot().view.last_event).toBe(2), PATIENCE);
  expect(run.snapshot().isLoaded).toBe(false);
  send(stopped);

  await vi.waitFor(() => expect(run.snapshot().isLoaded).toBe(true), PATIENCE);
  expect(seen.filter((each) => each !== null)[0]).toBe(1); // never without the stop
  expect(run.snapshot().frames.map((frame) => frame.state)).toEqual(["paused"]);
  await vi.waitFor(() => expect(run.snapshot().debug).not.toBeNull(), PATIENCE);
  stop();
});

test("a part that has not changed stays the same object, so that nothing is drawn for it", async () => {
  const send = serve();
  const run = new LiveRun("r1", 0);
  const stop = run.subscribe(() => undefined);
  await vi.waitFor(() => expect(run.snapshot().connection).toBe("live"), PATIENCE);
  send(started, opened, stopped);
  await vi.waitFor(() => expect(run.snapshot().stops).toHaveLength(1), PATIENCE);
  const before = run.snapshot();
  send({ kind: "step.started", number: 4, at: 1, frame: "main", step: "other", occurrence: "other" });

  await vi.waitFor(() => expect(run.snapshot().version).toBeGreaterThan(before.version), PATIENCE);
  const { stops, frames, breakpoints, edits } = run.snapshot();
  expect(
    [stops, frames, breakpoints, edits].map(
      (part, at) => part === [before.stops, before.frames, before.breakpoints, before.edits][at],
    ),
  ).toEqual([true, true, true, true]);
  stop();
});

test("an edit that is seen does not hold the next command up until its answer comes", async () => {
  const send = serve();
  const run = new LiveRun("r1", 0);
  const stop = run.subscribe(() => undefined);
  await vi.waitFor(() => expect(run.snapshot().connection).toBe("live"), PATIENCE);
  send(started, opened, stopped);
  await vi.waitFor(() => expect(run.snapshot().stops).toHaveLength(1), PATIENCE);
  vi.stubGlobal("fetch", () => new Promise(() => undefined)); // no answer
  void run.command("set", { stop: 1, path: ".vars.region", value: "north" });
  expect(run.snapshot().pending).toBe("set");
  send({ ...stopped, kind: "debug.scope_edited", number: 4, layer: "run", path: ["vars", "region"] });

  await vi.waitFor(() => expect(run.snapshot().edited).toBe(1), PATIENCE);
  expect(run.snapshot().pending).toBeNull();
  stop();
});

test("a stop that is seen to be left does not hold the next command up until its answer comes", async () => {
  const send = serve();
  const run = new LiveRun("r1", 0);
  const stop = run.subscribe(() => undefined);
  await vi.waitFor(() => expect(run.snapshot().connection).toBe("live"), PATIENCE);
  send(started, opened, stopped, { ...stopped, number: 4, stop: 2, frame: "checks.unit" });
  await vi.waitFor(() => expect(run.snapshot().stops).toHaveLength(2), PATIENCE);
  vi.stubGlobal("fetch", () => new Promise(() => undefined)); // no answer
  void run.command("continue", { stop: 1 });
  expect(run.snapshot().pending).toBe("continue");
  send({ kind: "debug.resumed", number: 5, at: 1, stop: 1, frame: "main", verb: "continue" });

  await vi.waitFor(() => expect(run.snapshot().stops).toHaveLength(1), PATIENCE);
  expect(run.snapshot().pending).toBeNull();
  stop();
});

test("what may be done at a stop is known before the server is asked", async () => {
  const send = serve();
  const run = new LiveRun("r1", 0);
  const stop = run.subscribe(() => undefined);
  await vi.waitFor(() => expect(run.snapshot().connection).toBe("live"), PATIENCE);
  const failed = { ...stopped, number: 4, stop: 2, frame: "checks.unit", position: "error", reasons: ["error"] };
  send(started, opened, stopped, failed, { ...stopped, number: 5, stop: 3, step: "", reasons: ["completed"] });

  await vi.waitFor(() => expect(run.snapshot().stops).toHaveLength(3), PATIENCE);
  const can = (verb: string) => run.snapshot().stops.map(({ allowed }) => allowed.includes(verb));
  expect(can("continue")).toEqual([true, true, true]);
  expect(can("set")).toEqual([true, true, false]);
  expect(can("skip")).toEqual([true, false, false]);
  expect(can("retry")).toEqual([false, true, false]);
  expect(can("rewind")).toEqual([true, true, true]);
  stop();
});

test("how far the files of the workspace are is told while it lasts, and is no event", async () => {
  const send = serve();
  const run = new LiveRun("r1", 2);
  const stop = run.subscribe(() => undefined);
  await vi.waitFor(() => expect(run.snapshot().connection).toBe("live"), PATIENCE);
  const progress = { kind: "workspace.progress", at: 0, text: "keeping the files: 1 of 2 files", is_over: false };
  send(started, progress);
  await vi.waitFor(() => expect(run.snapshot().filesProgress).toBe(progress.text), PATIENCE);
  expect(run.snapshot().isLoaded).toBe(false);
  send(opened);
  await vi.waitFor(() => expect(run.snapshot().isLoaded).toBe(true), PATIENCE);
  const { version } = run.snapshot();

  send({ ...progress, text: "kept the files", is_over: true });
  await vi.waitFor(() => expect(run.snapshot().filesProgress).toBeNull(), PATIENCE);

  expect(run.snapshot().version).toBe(version);
  expect(run.snapshot().view.last_event).toBe(2);
  stop();
});

test("a question for the debugger's state that got no answer is asked again though nothing happens", async () => {
  const send = serve();
  const answer = globalThis.fetch;
  let refusals = 2;
  vi.stubGlobal("fetch", async (url: string, request: RequestInit) => {
    if (url.includes("/events") || refusals === 0) return answer(url, request);
    if (--refusals === 1) throw new TypeError("the connection was reset");
    return new Response("{}", { status: 503 });
  });
  const run = new LiveRun("r1", 3);
  const stop = run.subscribe(() => undefined);
  await vi.waitFor(() => expect(run.snapshot().connection).toBe("live"), PATIENCE);
  send(started, opened, stopped);

  await vi.waitFor(() => expect(run.snapshot().debug).not.toBeNull(), PATIENCE);
  expect(refusals).toBe(0);
  stop();
});
