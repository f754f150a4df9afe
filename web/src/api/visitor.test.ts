import { act, renderHook } from "@testing-library/react";
import { expect, test } from "vitest";
import { noteAsking, useIsKnown } from "@/api/visitor";

test("what was asked before a login says nothing after that, however late it is answered", () => {
  const { result } = renderHook(useIsKnown);
  const [first, late, afterLogin] = [noteAsking(), noteAsking(), noteAsking()];
  act(() => first(401));
  expect(result.current).toBe(false);
  act(() => afterLogin(200));
  act(() => late(401));
  expect(result.current).toBe(true);
});
