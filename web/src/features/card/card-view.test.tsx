import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { useCard } from "@/api/card-queries";
import type { AttemptInfo, CardInfo, Diff, NoteInfo, Patch } from "@/api/types";
import { CardView } from "@/features/card/card-view";
import { ATTEMPTS, aCard, aDiff, aFile, aNote, BASE, FIRST, HEAD, PATCH } from "@/features/card/recorded";
import { Toasts } from "@/ui/toast";

afterEach(cleanup);
beforeEach(() => {
  sessionStorage.clear();
  history.replaceState(null, "", "/cards/shop-3");
});

type Asked = { method: string; path: string; query: string; body: unknown; version: string | null };
type World = {
  card: CardInfo;
  notes: NoteInfo[];
  attempts: readonly AttemptInfo[];
  diff: Diff;
  patch: Partial<Patch>;
  role: "operator" | "viewer";
  /** By the method and the path: what is answered instead. */
  refused: Record<string, { status: number; code: string; detail: string }>;
};

/** A server with one card; what it was asked for is recorded. */
function serve(more: Partial<World> = {}) {
  const world: World = {
    card: aCard(),
    notes: [],
    attempts: ATTEMPTS,
    diff: aDiff(),
    patch: {},
    role: "operator",
    refused: {},
    ...more,
  };
  const asked: Asked[] = [];
  vi.stubGlobal("fetch", async (address: string, init: RequestInit = {}) => {
    const url = new URL(address, "http://pitstop");
    const path = url.pathname.replace("/api/v1", "");
    const method = init.method ?? "GET";
    const body = typeof init.body === "string" ? JSON.parse(init.body) : undefined;
    const version = new Headers(init.headers).get("if-match");
    asked.push({ method, path, query: url.search, body, version });
    const refused = world.refused[`${method} ${path}`];
    if (refused) return new Response(JSON.stringify(refused), { status: refused.status });
    return new Response(JSON.stringify(answer(world, method, path, url.searchParams)));
  });
  return { world, asked };
}

function answer(world: World, method: string, path: string, query: URLSearchParams): unknown {
  const { card, notes, attempts, diff, patch } = world;
  if (path === "/me") return { name: "ada", role: world.role, version: "1" };
  if (path === "/cards/shop-3/notes" && method === "GET") return notes;
  if (path.startsWith("/cards/shop-3/notes")) return aNote();
  if (path === "/cards/shop-3/attempts") return attempts;
  if (path.startsWith("/cards/shop-3/attempts/"))
    return { ...attempts.at(-1), prompt: "Charge taxes, and test it.", text: "steps:\n  - agent: claude" };
  if (path === "/cards/shop-3/diff") return diff;
  if (path === "/cards/shop-3/patch") {
    const file = diff.files.find((each) => each.path === query.get("path"));
    return { file, text: PATCH, is_cut: false, is_binary: false, ...patch };
  }
  if (path === "/cards/shop-3/update-branch")
    return { card: { ...card, status: "in_progress" }, is_clean: false, files: {} };
  return card;
}

function Page({ onOpenRun, onDeleted }: { onOpenRun: (run: string) => void; onDeleted: () => void }) {
  const card = useCard("shop-3");
  return (
    card.data && (
      <CardView
        card={card.data}
        drawRun={(run) => <p>the run {run}</p>}
        drawEditing={() => <p>editing</p>}
        onOpenRun={onOpenRun}
        onDeleted={onDeleted}
      />
    )
  );
}

async function open(more: Partial<World> = {}) {
  const served = serve(more);
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const [onOpenRun, onDeleted] = [vi.fn(), vi.fn()];
  render(
    <QueryClientProvider client={client}>
      <Page onOpenRun={onOpenRun} onDeleted={onDeleted} />
      <Toasts />
    </QueryClientProvider>,
  );
  await screen.findByRole("heading", { level: 1 });
  const refresh = () => client.invalidateQueries({ queryKey: ["card", "shop-3"] });
  const sent = (path: string) => served.asked.filter((each) => each.method !== "GET" && each.path.endsWith(path));
  return { ...served, sent, refresh, onOpenRun, onDeleted };
}

const press = async (name: string | RegExp) => userEvent.click(await screen.findByRole("button", { name }));

test("a card shows what is to be done as plain text, and what was done", async () => {
  await open();
  screen.getByText(/<img src=x onerror=alert\(1\)> \[link\]\(https:\/\/example.com\)/);
  expect(document.querySelector("img, a[href^=https]")).toBeNull();
  screen.getByText("In review");
  screen.getByText("backend");
  screen.getByText("pytest");
  await screen.findByText("1 file");
  await screen.findByText("taxes = 0.2");
  screen.getByText("the run run-2");
});

test("lines have their numbers on both sides", async () => {
  await open();
  const rows = (await screen.findByRole("group", { name: "Lines of cart.py" })).querySelectorAll(
    ".grid:has([data-row])",
  );
  expect([...rows].map((row) => row.textContent)).toEqual([
    "11import sys",
    "2−total = 0",
    "2+total = 1",
    "3+taxes = 0.2",
    "34done = False",
    "45print(total)",
  ]);
});

test("a note on a line says which line of which commit it is about", async () => {
  const { sent } = await open();
  await press("Add a note on line 3");
  await userEvent.type(screen.getByLabelText("Write a note on line 3"), "Why 20 percent?");
  await userEvent.keyboard("{Control>}{Enter}{/Control}");
  await waitFor(() => expect(sent("/notes")).toHaveLength(1));
  expect(sent("/notes")[0]?.body).toEqual({
    text: "Why 20 percent?",
    file: "cart.py",
    line: 3,
    side: "new",
    sha: HEAD,
  });
  await waitFor(() => expect(screen.queryByLabelText("Write a note on line 3")).toBeNull());

  await press("Add a note on old line 2");
  await userEvent.type(screen.getByLabelText("Write a note on old line 2"), "It was right.");
  await userEvent.click(within(screen.getByLabelText("Lines of cart.py")).getByRole("button", { name: "Add note" }));
  await waitFor(() => expect(sent("/notes")).toHaveLength(2));
  expect(sent("/notes")[1]?.body).toMatchObject({ line: 2, side: "old", sha: BASE });
});

test("the lines are one stop of Tab, and arrow keys go from one to the next", async () => {
  await open();
  const first = await screen.findByRole("button", { name: "Add a note on line 1" });
  first.focus();
  await userEvent.keyboard("{ArrowDown}{ArrowDown}");
  expect(document.activeElement).toBe(screen.getByRole("button", { name: "Add a note on line 2" }));
  await userEvent.keyboard("{End}");
  expect(document.activeElement?.getAttribute("aria-label")).toBe("Add a note on line 5");
  const stops = screen.getAllByRole("button", { name: /Add a note on/ }).filter((each) => each.tabIndex === 0);
  expect(stops).toEqual([document.activeElement]);
});

test("what is being written survives news of the card, a refusal, and another commit", async () => {
  const { world, refresh } = await open();
  await press("Add a note on line 3");
  await userEvent.type(screen.getByLabelText("Write a note on line 3"), "Unfinished");
  world.notes = [aNote({ id: 9, line: 1, line_now: 1, text: "Another one" })];
  await refresh();
  await screen.findByText("Another one");
  expect(screen.getByLabelText<HTMLTextAreaElement>("Write a note on line 3").value).toBe("Unfinished");

  world.refused["POST /cards/shop-3/notes"] = { status: 400, code: "request.card", detail: "the line is gone" };
  await userEvent.click(within(screen.getByLabelText("Lines of cart.py")).getByRole("button", { name: "Add note" }));
  await screen.findByText("the line is gone");
  expect(screen.getByLabelText<HTMLTextAreaElement>("Write a note on line 3").value).toBe("Unfinished");

  world.diff = { ...world.diff, head: FIRST };
  await refresh();
  const moved = await screen.findByLabelText<HTMLTextAreaElement>("Write a note on line 3 at 3333333");
  expect(moved.value).toBe("Unfinished");
});

test("notes are below their lines, and those whose line is gone above them", async () => {
  const { sent } = await open({
    notes: [
      aNote({ id: 1 }),
      aNote({ id: 2, text: "Old news", sha: FIRST, is_outdated: true, line: 12, file_now: null, line_now: null }),
      aNote({ id: 3, kind: "system", text: "Attempt 2 passed", file: null, line: null, sha: null }),
      aNote({ id: 4, kind: "comment", text: "Not yet", who: "eve", file: null, line: null, sha: null, resolved: true }),
    ],
  });
  const file = await screen.findByRole("region", { name: "Changes of cart.py" });
  await within(file).findByText("outdated");
  within(file).getByText("cart.py:12 at 2222222");
  const lines = within(file).getByLabelText("Lines of cart.py");
  within(lines).getByText("Why 20 percent?");
  expect(within(lines).queryByText("Old news")).toBeNull();

  const said = screen.getByRole("region", { name: "Conversation" });
  within(said).getByText("Attempt 2 passed");
  expect(within(said).queryByText("Not yet")).toBeNull(); // resolved
  await userEvent.click(within(said).getByRole("button", { name: "Show" }));
  within(said).getByText("Not yet");
  await userEvent.click(within(lines).getByRole("button", { name: "Resolve" }));
  await waitFor(() => expect(sent("/notes/1/resolved")[0]?.body).toEqual({ resolved: true }));
});

test("a binary file, a patch that is cut, and a big file say so", async () => {
  await open({
    diff: aDiff(aFile(), aFile({ path: "big.py", added: 5000 })),
    patch: { is_cut: true },
  });
  await screen.findByText(/only the first 7 lines are shown/);
  expect(screen.getByRole("button", { name: /big.py/ }).getAttribute("aria-expanded")).toBe("false");
  cleanup();
  await open({ diff: aDiff(aFile({ added: null, removed: null })), patch: { is_binary: true, text: "" } });
  await screen.findByText("Binary file, not shown.");
});

test("the changes of one attempt, or between two, are in the address", async () => {
  const { asked } = await open();
  await press("Show the changes of attempt 2");
  await waitFor(() => expect(location.search).toBe("?attempt=2"));
  await waitFor(() => expect(asked.filter((each) => each.query === "?attempt=2")[0]?.path).toBe("/cards/shop-3/diff"));
  await userEvent.selectOptions(screen.getByLabelText("Changes to show"), "Compare attempts");
  expect(location.search).toBe("?from=1&to=2");
  await waitFor(() => expect(asked.some((each) => each.query === "?from_attempt=1&to_attempt=2")).toBe(true));
  await userEvent.selectOptions(screen.getByLabelText("Compare from"), "the base");
  expect(location.search).toBe("?from=0&to=2");
});

test("an attempt opens to its whole prompt and its flow", async () => {
  await open();
  await press(/Attempt 1 failed/);
  await screen.findByText("Charge taxes, and test it.");
  screen.getByRole("group", { name: "Flow of attempt 1" });
  screen.getByText("2 tests failed");
});

test("what is approved is the commit that was shown", async () => {
  const { sent, world, refresh } = await open();
  await press("Approve…");
  const dialog = await screen.findByRole("dialog", { name: "Approve and merge" });
  await userEvent.selectOptions(within(dialog).getByLabelText("Method"), "Squash");
  await userEvent.type(within(dialog).getByLabelText("Message"), "Charge taxes");
  await userEvent.click(within(dialog).getByLabelText(/Keep the card open/));
  world.card = aCard({ head_sha: FIRST, version: 8 });
  await refresh();
  await within(dialog).findByText(/The branch has moved to/);
  expect(within(dialog).getByRole<HTMLButtonElement>("button", { name: "Approve" }).disabled).toBe(true);
  world.card = aCard();
  await refresh();
  await waitFor(() => expect(within(dialog).queryByText(/The branch has moved to/)).toBeNull());
  await userEvent.click(within(dialog).getByRole("button", { name: "Approve" }));
  await waitFor(() => expect(sent("/approve")).toHaveLength(1));
  expect(sent("/approve")[0]).toMatchObject({
    version: '"7"',
    body: { expect: HEAD, method: "squash", message: "Charge taxes", keep_open: true },
  });
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
});

test("a card that another user has changed is read again, and nothing typed is lost", async () => {
  const { world, sent } = await open();
  const detail = "card shop-3 has changed since you read it";
  world.refused["POST /cards/shop-3/reject"] = { status: 412, code: "request.changed.card", detail };
  await press("Reject…");
  const dialog = await screen.findByRole("dialog", { name: "Reject the work?" });
  await userEvent.type(within(dialog).getByLabelText("Reason"), "Too slow");
  world.card = aCard({ version: 8 });
  await userEvent.click(within(dialog).getByRole("button", { name: "Reject" }));
  await screen.findByText("This card was changed by another user. Look at it and try again.");
  await within(dialog).findByText(detail);
  expect(within(dialog).getByLabelText<HTMLTextAreaElement>("Reason").value).toBe("Too slow");
  world.refused = {};
  await waitFor(async () => {
    await userEvent.click(within(dialog).getByRole("button", { name: "Reject" }));
    expect(sent("/reject").at(-1)).toMatchObject({ version: '"8"', body: { reason: "Too slow", keep_branch: true } });
  });
});

test("another attempt says from where, with which guidance, and by which agent", async () => {
  const { sent } = await open();
  await press("Retry…");
  const dialog = await screen.findByRole("dialog");
  await userEvent.type(within(dialog).getByLabelText("Guidance"), "Use decimals");
  await userEvent.selectOptions(within(dialog).getByLabelText("Start from"), "1");
  await userEvent.type(within(dialog).getByLabelText("Agent"), "codex");
  await userEvent.click(within(dialog).getByRole("button", { name: "Start" }));
  await waitFor(() => expect(sent("/start")).toHaveLength(1));
  expect(sent("/start")[0]).toMatchObject({
    version: '"7"',
    body: { guidance: "Use decimals", start_from: 1, profile: "codex", debug: false },
  });
});

test("debugging a card at work pauses its run at the next tool call", async () => {
  const { sent, onOpenRun } = await open({ card: aCard({ status: "in_progress", run_status: "running", moves: [] }) });
  await press("Debug");
  await waitFor(() => expect(sent("/runs/run-2/debug/breakpoints")).toHaveLength(1));
  expect(sent("/runs/run-2/debug/breakpoints")[0]?.body).toEqual({ tool: "any", once: true });
  await screen.findByText("The run pauses at its next tool call.");
  await press("Open the run");
  expect(onOpenRun).toHaveBeenCalledWith("run-2");
});

test("debugging a card that failed starts it again, paused", async () => {
  const { sent } = await open({ card: aCard({ status: "failed", reason: "tests failed: 2 of 14" }) });
  within(screen.getByRole("region", { name: "Failure" })).getByText("tests failed: 2 of 14");
  await press("Debug");
  await waitFor(() => expect(sent("/start")[0]?.body).toEqual({ debug: true }));
});

test("a conflict names its files and has three ways out", async () => {
  const conflict = {
    base_sha: BASE,
    head_sha: HEAD,
    files: [
      { path: "cart.py", kind: "text" },
      { path: "logo.png", kind: "binary" },
    ],
  } satisfies CardInfo["conflict"];
  const { sent, world } = await open({ card: aCard({ conflict, has_conflict: true }) });
  const panel = screen.getByRole("region", { name: "Cannot merge: 2 conflicting files" });
  within(panel).getByText("both change the same lines");
  within(panel).getByText("both change a binary file");
  world.refused["POST /cards/shop-3/update-branch"] = { status: 409, code: "refused.move", detail: "it is busy" };
  await userEvent.click(await within(panel).findByRole("button", { name: "Let the agent resolve it" }));
  await within(panel).findByText("it is busy");
  world.refused = {};
  await userEvent.click(within(panel).getByRole("button", { name: "Resolve by hand" }));
  await waitFor(() =>
    expect(sent("/update-branch").map(({ body }) => body)).toEqual([{ by_hand: false }, { by_hand: true }]),
  );
  await screen.findByText("A run pauses with the conflict.");
});

test("rejecting is offered with a conflict, too", async () => {
  const conflict = { base_sha: BASE, head_sha: HEAD, files: [] };
  await open({ card: aCard({ conflict }) });
  const panel = within(screen.getByRole("region", { name: /Cannot merge/ }));
  await userEvent.click(await panel.findByRole("button", { name: "Reject…" }));
  await screen.findByRole("dialog", { name: "Reject the work?" });
});

test("a card is deleted with its branch only if that is asked for", async () => {
  const { asked, onDeleted } = await open();
  await press("More");
  await userEvent.click(await screen.findByRole("menuitem", { name: "Delete…" }));
  await userEvent.click(await screen.findByLabelText(/Also delete the branch/));
  await press("Delete card");
  await waitFor(() => expect(onDeleted).toHaveBeenCalled());
  expect(asked.find(({ method }) => method === "DELETE")?.query).toBe("?delete_branch=true");
});

test("a viewer sees all of it and can change nothing", async () => {
  const conflict = { base_sha: BASE, head_sha: HEAD, files: [] };
  await open({ role: "viewer", notes: [aNote()], card: aCard({ conflict }) });
  await screen.findByText("Why 20 percent?");
  for (const name of ["Approve…", "Retry…", "More", "Resolve", "Add note", "Reject…", "Resolve by hand"])
    expect(screen.queryByRole("button", { name })).toBeNull();
  expect(screen.queryByRole("button", { name: /Add a note on/ })).toBeNull();
});

test("a branch that is gone is told, and a card without work has no changes", async () => {
  await open({ card: aCard({ is_branch_gone: true }) });
  screen.getByText(/does not exist any more/);
  cleanup();
  const { asked } = await open({
    card: aCard({ status: "todo", attempt: 0, run: null, branch: null, head_sha: null }),
    attempts: [],
  });
  await screen.findByRole("button", { name: "Start" });
  expect(screen.queryByRole("heading", { name: "Changes" })).toBeNull();
  expect(asked.some(({ path }) => path.endsWith("/diff"))).toBe(false);
});
