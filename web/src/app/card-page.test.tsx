import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import type { CardInfo } from "@/api/types";
import { CardPage } from "@/app/card-page";
import { aCard, aDiff } from "@/features/card/recorded";

afterEach(cleanup);

const step = { frame: "main", step: "fix", occurrence: "fix" };
const called = { call: "1", name: "Bash", tool: "shell", input: { command: "pytest" }, command: "pytest" };
const STOPPED = { stop: 1, position: "before", reasons: ["breakpoint"], breakpoints: [1], problems: [] };
const EVENTS = [
  { kind: "run.started", plan: "card", inputs: {} },
  { kind: "frame.opened", frame: "main", name: "card", parent: null, step: "" },
  { kind: "step.started", ...step },
  { kind: "step.noted", ...step, note: "agent.started", data: { profile: "claude", model: "sonnet", session: "s" } },
  { kind: "step.noted", ...step, note: "agent.said", data: { text: "I will look." } },
  { kind: "step.noted", ...step, note: "agent.called", data: called },
  { kind: "debug.stopped", frame: "main", step: "fix/1", occurrence: "fix/1", ...STOPPED },
].map((event, at) => ({ ...event, number: at + 1, at }));
const RUN = {
  id: "run-2",
  flow: "card",
  status: "running",
  last_event: EVENTS.length,
  carried_over: 0,
  started_at: 0,
  ended_at: null,
  failures: [],
  flow_info: { name: "card", file: "card.yaml", steps: [{ path: "fix", title: "fix", kind: "agent", parent: null }] },
};

function serve(card: CardInfo | null) {
  const stream = EVENTS.map((event) => `id: ${event.number}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  const answers: [RegExp, unknown][] = [
    [/\/me$/, { name: "ada", role: "operator", version: "1" }],
    [/\/runs\/run-2$/, RUN],
    [/\/cards\/shop-3$/, card],
    [/\/cards\/shop-3\/diff$/, aDiff()],
    [/\/cards\/shop-3\/patch/, { text: "", is_cut: false, is_binary: true }],
    [/\/cards\/shop-3\/(notes|attempts)$/, []],
  ];
  vi.stubGlobal("fetch", async (url: string) => {
    if (url.includes("/events")) return new Response(lasting(stream));
    if (url.includes("/feed")) return new Response(lasting(": hello\n\n"));
    const found = answers.find(([path]) => path.test(url))?.[1];
    const refused = { status: 404, code: "unknown.card", detail: "there is no card shop-3" };
    return new Response(JSON.stringify(found ?? refused), { status: found ? 200 : 404 });
  });
}

/** A stream that says this and stays open. */
function lasting(text: string): ReadableStream {
  return new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode(text)) });
}

function open(card: CardInfo | null) {
  serve(card);
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <CardPage id="shop-3" />
    </QueryClientProvider>,
  );
}

test("a card at work shows the agent as it goes, and where its run is paused", async () => {
  const live = { tool: "shell", about: "pytest", calls: 1, cost: 0.1, tokens: null };
  open(aCard({ status: "in_progress", run_status: "paused", live }));
  const link = await screen.findByRole("link", { name: "Paused before call 1 of fix: open the debugger" });
  expect(link.getAttribute("href")).toBe("/runs/run-2");
  screen.getByText("In progress, paused");
  screen.getByText("I will look.");
  screen.getByRole("button", { name: /shell pytest #1 held/ });
  screen.getByText("1 call · $0.10");
  expect(document.title).toContain("#3 Charge taxes");
});

test("a card whose run was deleted says so", async () => {
  open(aCard({ run: "another" }));
  await screen.findByText("The run of attempt 2 has been deleted.");
});

test("an unknown card is told, with a way back", async () => {
  open(null);
  await screen.findByText("there is no card shop-3");
  expect(screen.getByRole("link", { name: "Repositories" }).getAttribute("href")).toBe("/repos");
});
