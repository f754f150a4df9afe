import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import type { VariableInfo } from "@/api/types";
import { activeRow, keyOf, type TreeRow, useVariableTree } from "@/features/debug/variables/use-variable-tree";

afterEach(cleanup);

const variable = (path: string, preview = "{}", size: number | null = 1) =>
  ({ path, name: path.slice(1), preview, size }) as unknown as VariableInfo;

/** A server whose answers come when they are told to: `answer` those to what asks for this. */
function serve() {
  const waiting: { asked: string; tell: (response: Response) => void }[] = [];
  vi.stubGlobal(
    "fetch",
    (url: string) =>
      new Promise<Response>((tell) => {
        const { searchParams } = new URL(url, "http://x");
        waiting.push({ asked: `${searchParams.get("stop")} ${searchParams.get("path")}`, tell });
      }),
  );
  const answer = (asked: string, variables: VariableInfo[], next: number | null = null) =>
    act(async () => {
      const told = JSON.stringify({ variables, next, total: 9 });
      for (const each of waiting.splice(0)) {
        if (each.asked === asked) each.tell(new Response(told));
        else waiting.push(each);
      }
    });
  return { answer, asked: () => waiting.map((each) => each.asked) };
}

const shown = (rows: readonly TreeRow[]) =>
  rows.map((row) => (row.kind === "value" ? `${row.variable.path} ${row.variable.preview}` : keyOf(row)));

test("what was asked at one stop is not shown at the next, however late the answer comes", async () => {
  const { answer } = serve();
  const { result, rerender } = renderHook(({ stop }) => useVariableTree("r1", stop, 0), { initialProps: { stop: 1 } });
  await answer("1 .", [variable(".inputs")]);
  act(() => result.current.toggle(".inputs"));

  rerender({ stop: 2 });
  await answer("2 .", [variable(".inputs")]);
  await answer("2 .inputs", [variable(".inputs.a", "2", null)]);
  await waitFor(() => expect(shown(result.current.rows)).toEqual([".inputs {}", ".inputs.a 2"]));
  await answer("1 .inputs", [variable(".inputs.a", "1", null)]);

  expect(shown(result.current.rows)).toEqual([".inputs {}", ".inputs.a 2"]);
});

test("more that is asked for twice is there once", async () => {
  const { answer, asked } = serve();
  const { result } = renderHook(() => useVariableTree("r1", 1, 0));
  await answer("1 .", [variable(".a")], 1);
  await waitFor(() => expect(shown(result.current.rows)).toEqual([".a {}", "more of ."]));
  act(() => {
    result.current.loadMore(".");
    result.current.loadMore(".");
  });
  expect(asked().filter((each) => each === "1 .")).toHaveLength(2);
  await answer("1 .", [variable(".b")]);

  await waitFor(() => expect(shown(result.current.rows)).toEqual([".a {}", ".b {}"]));
});

test("the active row stays the one that was chosen when a level above it comes late", async () => {
  const { answer } = serve();
  const { result } = renderHook(() => useVariableTree("r1", 1, 0));
  await answer("1 .", [variable(".steps"), variable(".vars")]);
  await answer("1 .vars", [variable(".vars.region", '"west"', null)]);
  await waitFor(() => expect(result.current.rows).toHaveLength(3));
  const chosen = { key: ".vars.region", at: 2 };
  expect(activeRow(result.current.rows, chosen)).toBe(2);
  await answer("1 .steps", [variable(".steps.build"), variable(".steps.checks")]);

  await waitFor(() => expect(result.current.rows).toHaveLength(5));
  expect(activeRow(result.current.rows, chosen)).toBe(4);
  expect(activeRow(result.current.rows.slice(0, 2), chosen)).toBe(1); // it is gone, and so is its place
});
