import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import type { FlowInfo } from "@/api/types";
import { BreakpointDialog } from "@/features/debug/breakpoint-dialog";

afterEach(cleanup);

const flow = { name: "shop", file: "shop.yaml", inputs: [], steps: [{ path: "build" }] } as unknown as FlowInfo;

function open(answer: string | null) {
  vi.stubGlobal("fetch", async () => new Response("[]"));
  const [onSave, onClose] = [vi.fn(async () => answer), vi.fn()];
  render(
    <QueryClientProvider client={new QueryClient()}>
      <BreakpointDialog flow={flow} request={{}} isNew onSave={onSave} onClose={onClose} />
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
