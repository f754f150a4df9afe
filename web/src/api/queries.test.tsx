import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, test, vi } from "vitest";
import { keepFlowBreakpoints, useFlowBreakpoints } from "@/api/queries";

afterEach(cleanup);

test("breakpoints are kept with a flow one list after the other, and who asks is told the last", async () => {
  const asked: { what: string; answer: (response: Response) => void }[] = [];
  vi.stubGlobal(
    "fetch",
    (_url: string, { method, body }: RequestInit) =>
      new Promise<Response>((answer) => asked.push({ what: `${method} ${body ?? ""}`, answer })),
  );
  const client = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>{children}</QueryClientProvider>
  );
  const first = keepFlowBreakpoints("shop", [{ step: "package" }]);
  const second = keepFlowBreakpoints("shop", []);
  const { result } = renderHook(() => useFlowBreakpoints("shop"), { wrapper });

  const isAsked = (...what: string[]) => waitFor(() => expect(asked.map((each) => each.what)).toEqual(what));
  await isAsked('PUT [{"step":"package"}]');
  asked[0]?.answer(new Response(null, { status: 503 })); // also after one that could not be kept
  await first;
  await isAsked('PUT [{"step":"package"}]', "PUT []");
  asked[1]?.answer(new Response(null, { status: 204 }));
  await second;
  await isAsked('PUT [{"step":"package"}]', "PUT []", "GET ");
  asked[2]?.answer(new Response("[]"));
  await waitFor(() => expect(result.current.data).toEqual([]));
});
