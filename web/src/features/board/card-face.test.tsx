import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { CardFace } from "@/features/board/card-face";
import { cardOf } from "@/features/board/example-cards";

afterEach(cleanup);

function shown(changes: Parameters<typeof cardOf>[1]): string {
  const { container } = render(<CardFace card={cardOf(12, changes)} />);
  return container.textContent ?? "";
}

test("a running card shows its last tool call and what it has cost", () => {
  const live = { tool: "shell", about: "pytest -q", calls: 12, cost: 0.42, tokens: null };
  const text = shown({ status: "in_progress", run_status: "paused", live, attempt: 2 });
  expect(text).toContain("#12attempt 2claudeCard 12");
  expect(text).toContain("paused· 12 calls · $0.42");
  expect(text).toContain("shell pytest -q");
  expect(shown({ status: "in_progress", run_status: "pending", live: null })).toContain("queued");
});

test("a card says what matters in its column", () => {
  const review = { status: "in_review", branch: "card/12-x", head_sha: "abc" } as const;
  expect(shown({ ...review, judges: ["r1", "r2"] })).toContain("card/12-x2 flows are running");
  expect(shown({ ...review, has_conflict: true })).toContain("conflict");
  expect(shown({ status: "failed", reason: "tests failed: 3" })).toContain("tests failed: 3");
  expect(shown({ status: "done", head_sha: "abc" })).toContain("merged");
  expect(shown({ status: "done", head_sha: "abc", landed_at: 5 })).toContain("landed");
  expect(shown({ work: "none", profile: null })).toContain("by hand");
  expect(shown({ labels: ["a", "b", "c", "d", "e", "f"] })).toContain("abcd+2");
});

test("a title is text, whatever it looks like", () => {
  const title = `<img src=x onerror=alert(1)> 🦊 مرحبا ${"long".repeat(40)}`;
  const { container } = render(<CardFace card={cardOf(1, { title })} />);
  screen.getByText(title);
  expect(container.querySelector("img")).toBeNull();
});
