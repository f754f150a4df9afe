import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { CardSummary } from "@/api/types";
import { CardBoard } from "@/features/board/card-board";
import { boardWith, cardOf } from "@/features/board/example-cards";

const FILTER = { label: "", profile: "", search: "" };

beforeEach(() => {
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(600); // nothing is laid out here
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(80);
});
afterEach(cleanup);

function stage(cards: CardSummary[], canChange = true) {
  const onDrop = vi.fn();
  render(
    <QueryClientProvider client={new QueryClient()}>
      <CardBoard repo="shop" filter={FILTER} board={boardWith(...cards)} canChange={canChange} onDrop={onDrop} />
    </QueryClientProvider>,
  );
  return { onDrop, user: userEvent.setup() };
}

/** What screen readers say. */
const told = () =>
  screen
    .getAllByRole("status")
    .map((each) => each.textContent)
    .join("");

const focused = () => document.activeElement?.getAttribute("data-card");

test("each column has its cards, in a list, under its name and number", () => {
  stage([cardOf(1), cardOf(2), cardOf(3, { status: "done" })]);
  const todo = screen.getByRole("region", { name: "Todo" });
  expect(within(todo).getAllByRole("listitem")).toHaveLength(2);
  within(todo).getByText("2");
  expect(screen.getAllByRole("region").map((each) => each.getAttribute("data-column"))).toEqual([
    "todo",
    "in_progress",
    "in_review",
    "done",
    "failed",
  ]);
  expect(screen.getByRole("link", { name: /#3 .*Card 3/ }).getAttribute("href")).toBe("/cards/shop-3");
});

test("one card is in the order of Tab, and arrow keys lead to the others", async () => {
  const { user } = stage([cardOf(1), cardOf(2), cardOf(3, { status: "in_review" })]);
  await user.tab();
  expect(focused()).toBe("shop-1");
  await user.keyboard("{ArrowDown}");
  expect(focused()).toBe("shop-2");
  await user.keyboard("{ArrowRight}");
  expect(focused()).toBe("shop-3");
  await user.keyboard("{ArrowLeft}{Home}");
  expect(focused()).toBe("shop-1");
  expect(document.querySelectorAll("[data-card][tabindex='0']")).toHaveLength(1);
});

test("of many cards only those to be seen are drawn, and the last one is reached by a key", async () => {
  const { user } = stage(Array.from({ length: 3000 }, (_, at) => cardOf(at + 1)));
  expect(document.querySelectorAll("[data-card]").length).toBeLessThan(30);
  await user.tab();
  await user.keyboard("{End}");
  expect(focused()).toBe("shop-3000");
  expect(document.querySelectorAll("[data-card]").length).toBeLessThan(60);
});

test("a viewer is not told how to move cards, and cannot", async () => {
  const { user } = stage([cardOf(1)], false);
  await user.tab();
  expect(document.activeElement?.hasAttribute("aria-describedby")).toBe(false);
  await user.keyboard(" ");
  expect(told()).toBe("");
});

test("a card is picked up by Space, told where it would be dropped, and dropped by Space", async () => {
  const { user, onDrop } = stage([cardOf(1), cardOf(2)]);
  await user.tab();
  await user.keyboard(" ");
  await vi.waitFor(() => expect(told()).toBe("Card 1: Todo, position 1 of 2."));
  await new Promise((resolve) => setTimeout(resolve)); // the sensor listens from then on
  await user.keyboard("{ArrowDown}");
  expect(told()).toBe("Card 1: Todo, position 2 of 2.");
  await user.keyboard("{ArrowRight}");
  expect(told()).toBe("Card 1: In progress. Dropping the card starts its work.");
  await user.keyboard(" ");
  await vi.waitFor(() => expect(onDrop).toHaveBeenCalledOnce());
  expect(onDrop.mock.calls[0]?.slice(1)).toEqual([{ kind: "start" }, { status: "in_progress", after: null }]);
  expect(told()).toBe("");
});
