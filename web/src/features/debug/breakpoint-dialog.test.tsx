import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import type { BreakpointRequest, FlowInfo } from "@/api/types";
import { BreakpointDialog } from "@/features/debug/breakpoint-dialog";
import { describeBreakpoint } from "@/features/debug/describe-breakpoint";

afterEach(cleanup);

const flow = {
  name: "shop",
  file: "shop.yaml",
  inputs: [],
  steps: [{ path: "build" }, { path: "fix", kind: "agent" }],
} as unknown as FlowInfo;

function open(answer: string | null, request: BreakpointRequest = {}) {
  vi.stubGlobal("fetch", async () => new Response("[]"));
  const [onSave, onClose] = [vi.fn(async () => answer), vi.fn()];
  render(
    <QueryClientProvider client={new QueryClient()}>
      <BreakpointDialog flow={flow} request={request} isNew onSave={onSave} onClose={onClose} />
    </QueryClientProvider>,
  );
  return { onSave, onClose };
}

test("every part that was filled in is asked for, and the rest is not", async () => {
  const { onSave, onClose } = open(null);
  await userEvent.type(screen.getByLabelText("Hit count"), ">= 3");
  await userEvent.selectOptions(screen.getByLabelText("When"), "when it fails");
  await userEvent.click(screen.getByRole("button", { name: "Add" }));
  expect(onSave).toHaveBeenCalledWith(
    expect.objectContaining({ step: "build", position: "error", hits: ">= 3", condition: null, log: null, kind: null }),
  );
  expect(onClose).toHaveBeenCalled();
});

test("what the server finds wrong is told at the field that it is about", async () => {
  const { onClose } = open("'= three' is not a hit count");
  await userEvent.type(screen.getByLabelText("Condition"), ".vars.x");
  await userEvent.type(screen.getByLabelText("Hit count"), "= three");
  await userEvent.click(screen.getByRole("button", { name: "Add" }));
  await screen.findByText("'= three' is not a hit count");
  expect(screen.getByLabelText("Hit count").getAttribute("aria-invalid")).toBe("true");
  expect(screen.getByLabelText("Condition").getAttribute("aria-invalid")).toBeNull();
  expect(onClose).not.toHaveBeenCalled();
});

test("a breakpoint for tool calls names an agent, a tool and files", async () => {
  const { onSave } = open(null);
  await userEvent.selectOptions(screen.getByLabelText("Pause at"), "a tool call");
  await userEvent.selectOptions(screen.getByLabelText("Agent"), "fix");
  await userEvent.selectOptions(screen.getByLabelText("Tool"), "edit");
  await userEvent.type(screen.getByLabelText("Files"), "migrations/**");
  await userEvent.click(screen.getByRole("button", { name: "Add" }));
  expect(onSave).toHaveBeenCalledWith(
    expect.objectContaining({ step: "fix", tool: "edit", path: "migrations/**", position: "before", state: null }),
  );
});

test("a breakpoint for a tool by its name is edited as it is", async () => {
  const { onSave } = open(null, { tool: "Bash" });
  expect(screen.getByLabelText<HTMLSelectElement>("Agent").value).toBe("");
  await userEvent.clear(screen.getByLabelText("Tool name"));
  await userEvent.type(screen.getByLabelText("Tool name"), "WebFetch");
  await userEvent.click(screen.getByRole("button", { name: "Add" }));
  expect(onSave).toHaveBeenCalledWith(expect.objectContaining({ step: null, tool: "WebFetch", path: null }));
});

test("breakpoints for tool calls are told in words", () => {
  const where = (request: BreakpointRequest) => describeBreakpoint(request).where;
  expect(where({ step: "fix", tool: "shell" })).toBe("before shell calls of fix");
  expect(where({ tool: "any", position: "error" })).toBe("when tool calls of any agent fail");
  expect(where({ path: "src/**", tool: "edit", position: "after" })).toBe("after edit calls on src/** of any agent");
});
