import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import type { CardInfo } from "@/api/types";
import { CardForm } from "@/features/board/card-form";
import { cardOf, infoOf } from "@/features/board/example-cards";

afterEach(cleanup);

type Sent = { method: string; path: string; body: Record<string, unknown>; version: string | null; key: string | null };
type Answer = { status?: number; body: unknown };

/** The form, over a server that answers what is saved with these, one after the other. */
function stage(card: CardInfo | undefined, ...answers: Answer[]) {
  const sent: Sent[] = [];
  vi.stubGlobal("fetch", async (url: string, { method = "GET", headers, body }: RequestInit) => {
    const path = url.replace("/api/v1", "");
    const reply = ({ status = 200, body: answer }: Answer) => new Response(JSON.stringify(answer), { status });
    if (path.endsWith("/flows"))
      return reply({
        body: [
          { name: "ci", problems: [] },
          { name: "bad", problems: [{}] },
        ],
      });
    if (path.includes("/flows/ci")) return reply({ body: { text: "", path: "ci.yaml", problems: [], sha: "a" } });
    if (path.endsWith("/flows/check"))
      return reply({ body: { mistakes: [], flow: { inputs: [{ name: "greeting", default: "hello" }], secrets: [] } } });
    if (path.includes("/branches")) return reply({ body: { branches: [{ name: "main" }], next: null } });
    if (path.endsWith("/preview"))
      return reply({ body: { prompt: "Fix it, please", text: "steps: []", test: "pytest -q" } });
    if (method === "GET") return reply({ body: { ...card, version: 9 } });
    const told = new Headers(headers);
    sent.push({
      method,
      path,
      body: JSON.parse(String(body)),
      version: told.get("if-match"),
      key: told.get("idempotency-key"),
    });
    return reply(answers.shift() ?? { body: infoOf(cardOf(1)) });
  });
  const onSaved = vi.fn();
  const onClose = vi.fn();
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <CardForm
        repo="shop"
        card={card}
        known={{ labels: ["ui"], profiles: ["mine"] }}
        onSaved={onSaved}
        onClose={onClose}
      />
    </QueryClientProvider>,
  );
  return { sent, onSaved, onClose, user: userEvent.setup() };
}

const title = () => screen.getByRole("textbox", { name: /^Title/ });

test("a card for an agent is created by Ctrl+Enter, with the label that is still being typed", async () => {
  const { sent, onSaved, user } = stage(undefined);
  await user.type(title(), "Fix the login");
  await user.type(screen.getByLabelText("Budget"), "1.5");
  await user.type(screen.getByRole("combobox", { name: "Labels" }), "ui,back{Control>}{Enter}{/Control}");
  await waitFor(() => expect(onSaved).toHaveBeenCalledOnce());
  expect(sent).toHaveLength(1);
  expect(sent[0]).toMatchObject({
    path: "/repos/shop/cards",
    body: {
      title: "Fix the login",
      start: false,
      base: null,
      labels: ["ui", "back"],
      work: { agent: "claude", budget: { cost: 1.5 } },
    },
  });
});

test("what is missing is said at the field, and nothing is sent", async () => {
  const { sent, user } = stage(undefined);
  await user.click(screen.getByRole("radio", { name: "Image + script" }));
  await user.click(screen.getByRole("button", { name: "Create" }));
  screen.getByText("Enter a title.");
  screen.getByText("Enter an image.");
  screen.getByText("Enter a script.");
  expect(sent).toEqual([]);
});

test("a refusal is shown, nothing is lost, and the same request again has the same key", async () => {
  const refusal = { status: 409, body: { status: 409, code: "refused", detail: "the base does not exist" } };
  const { sent, onSaved, user } = stage(undefined, refusal, refusal);
  await user.type(title(), "Fix the login");
  await user.type(screen.getByLabelText("Description"), "It forgets the email.");
  await user.click(screen.getByRole("button", { name: "Create and start" }));
  await screen.findByText("the base does not exist");
  expect(title()).toHaveProperty("value", "Fix the login");
  expect(screen.getByLabelText("Description")).toHaveProperty("value", "It forgets the email.");
  await user.click(screen.getByRole("button", { name: "Create and start" }));
  await waitFor(() => expect(sent).toHaveLength(2));
  await screen.findByText("the base does not exist");
  expect(sent[1]?.key).toBe(sent[0]?.key);
  await user.type(title(), " form");
  await user.click(screen.getByRole("button", { name: "Create and start" }));
  await waitFor(() => expect(onSaved).toHaveBeenCalledOnce());
  expect(sent[2]?.key).not.toBe(sent[0]?.key);
  expect(sent[2]?.body).toMatchObject({ title: "Fix the login form", start: true });
});

test("a flow is chosen among those that can run, with inputs by name", async () => {
  const { sent, onSaved, user } = stage(undefined);
  await user.type(title(), "Build it");
  await user.click(screen.getByRole("radio", { name: "Flow" }));
  await screen.findByRole("option", { name: "ci" });
  expect(screen.queryByRole("option", { name: "bad" })).toBeNull();
  await user.selectOptions(screen.getByRole("combobox", { name: /^Flow/ }), "ci");
  await waitFor(async () => {
    await user.click(screen.getByRole("button", { name: "Add input" }));
    screen.getByLabelText("Value of greeting");
  });
  await user.type(screen.getByLabelText("Value of greeting"), "3");
  await user.click(screen.getByRole("button", { name: "Create" }));
  await waitFor(() => expect(onSaved).toHaveBeenCalledOnce());
  expect(sent[0]?.body.work).toEqual({ flow: "ci", inputs: { greeting: 3 } });
});

test("the prompt is previewed on demand, with the command that tests the work", async () => {
  const { user } = stage(undefined);
  await user.type(title(), "Fix it");
  expect(screen.queryByText("Fix it, please")).toBeNull();
  await user.click(screen.getByRole("button", { name: "Preview the prompt" }));
  await screen.findByText("Fix it, please");
  screen.getByText("pytest -q");
});

test("an edit sends what was changed; another user's change is not overwritten unasked", async () => {
  const card = infoOf(cardOf(7, { version: 3, title: "Old", labels: ["ui"] }));
  const stale = { status: 412, body: { status: 412, code: "request.changed.card", detail: "changed" } };
  const { sent, onSaved, user } = stage(card, stale);
  expect(screen.queryByRole("button", { name: "Create and start" })).toBeNull();
  await user.clear(title());
  await user.type(title(), "New");
  await user.click(screen.getByRole("button", { name: "Save" }));
  await screen.findByText(/Another user has changed this card/);
  expect(sent[0]).toMatchObject({ method: "PATCH", path: "/cards/shop-7", body: { title: "New" }, version: '"3"' });
  expect(Object.keys(sent[0]?.body ?? {})).toEqual(["title"]);
  await user.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(onSaved).toHaveBeenCalledOnce());
  expect(sent[1]?.version).toBe('"9"');
});

test("closing asks before it discards what was written", async () => {
  const { onClose, user } = stage(undefined);
  await user.type(title(), "Fix");
  await user.click(screen.getByRole("button", { name: "Cancel" }));
  expect(onClose).not.toHaveBeenCalled();
  await user.click(await screen.findByRole("button", { name: "Discard" }));
  expect(onClose).toHaveBeenCalled();
});
