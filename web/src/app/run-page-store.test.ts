import { expect, test, vi } from "vitest";
import type { RunDetail, StepInfo, StopInfo } from "@/api/types";
import { RunPageStore, steeredFrame } from "@/app/run-page-store";
import { RunView } from "@/core/run-view";

function view(...frames: string[]): RunView {
  const made = new RunView();
  frames.forEach((frame, at) => {
    made.apply({ kind: "frame.opened", number: at + 1, at: 0, frame, name: frame, parent: null, step: null });
  });
  return made;
}

const stop = (id: number, frame: string) => ({ id, frame }) as StopInfo;

test("the first stop is followed until the user chooses a frame", () => {
  expect(steeredFrame({ view: view("main", "a"), stops: [stop(1, "a")] }, { frame: null, after: 0 })).toBe("a");
});

test("a frame that stands still is never taken away", () => {
  const now = { view: view("a", "b"), stops: [stop(1, "a"), stop(2, "b")] };
  expect(steeredFrame(now, { frame: "a", after: 0 })).toBe("a");
  expect(steeredFrame(now, { frame: "b", after: null })).toBe("b");
});

test("a frame that was chosen by hand is kept while it runs", () => {
  expect(steeredFrame({ view: view("a", "b"), stops: [stop(2, "b")] }, { frame: "a", after: null })).toBe("a");
});

test("a frame that was let go gives way to the next stop, not to one that was there before", () => {
  const known = view("main", "a", "b");
  expect(steeredFrame({ view: known, stops: [stop(2, "b")] }, { frame: "main", after: 2 })).toBe("main");
  expect(steeredFrame({ view: known, stops: [stop(2, "b"), stop(3, "a")] }, { frame: "main", after: 2 })).toBe("a");
});

const detail = {
  id: "r1",
  status: "running",
  last_event: 0,
  flow_info: { name: "shop", file: "", inputs: [], steps: [] },
} as unknown as RunDetail;

function serve(...answers: [status: number, body: object][]): string[] {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (url: string, { method = "GET", body = "" } = {}) => {
    const [status, answer] = answers[Math.min(asked.length, answers.length - 1)] ?? [500, {}];
    asked.push(`${method} ${url} ${body}`);
    return new Response(JSON.stringify(answer), { status });
  });
  return asked;
}

test("cancelling asks first, and says nothing to the server when the answer is no", async () => {
  const asked = serve([200, { stops: [], breakpoints: [], edits: [], frames: [], last_event: 1 }]);
  const page = new RunPageStore(detail);
  page.state().askToCancel();
  expect(page.asking()).toMatchObject({ title: "Cancel this run?", dismiss: "Keep running" });
  page.answer(false);
  expect([page.asking(), asked]).toEqual([null, []]);

  page.state().askToCancel();
  page.answer(true);
  expect(asked).toEqual(['POST /api/v1/runs/r1/cancel {"now":false}']);
});

test("what has effects outside is done only after a person has agreed", async () => {
  const refused = { code: "refused.external_effects", detail: "release was done already" };
  const asked = serve([409, refused], [200, { stops: [], breakpoints: [], edits: [], frames: [], last_event: 1 }]);
  const page = new RunPageStore(detail);
  expect(await page.act("rewind", { stop: 3, point: 12 })).toBe(false);
  expect(page.asking()).toMatchObject({ text: "release was done already", action: "Continue anyway" });

  page.answer(true);
  expect(asked.at(-1)).toBe('POST /api/v1/runs/r1/debug/rewind {"stop":3,"point":12,"external":true}');
});

test("a breakpoint that is toggled twice at once is as it was", async () => {
  const made: { id: number; request: object; paths: string[] }[] = [];
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (url: string, { method = "GET" } = {}) => {
    asked.push(`${method} ${url}`);
    if (method === "POST") made.push({ id: 7, request: { step: "build" }, paths: ["build"] });
    if (method === "DELETE") made.pop();
    return new Response(JSON.stringify({ stops: [], breakpoints: made, edits: [], frames: [], last_event: 1 }));
  });
  const page = new RunPageStore({ ...detail, id: "r2" });
  const step = { path: "build", id: "build" } as StepInfo;
  page.toggleBreakpoint(step);
  page.toggleBreakpoint(step);

  const path = "/api/v1/runs/r2/debug";
  const all = [`POST ${path}/breakpoints`, `GET ${path}`, `DELETE ${path}/breakpoints/7`, `GET ${path}`];
  await vi.waitFor(() => expect(asked).toEqual(all), 30_000);
});
