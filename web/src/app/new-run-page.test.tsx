import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { NewRunPage } from "@/app/new-run-page";

afterEach(cleanup);

const FLOW = { name: "shop", file: "shop.yaml", text: "steps: []", info: null, mistakes: [] };

test("nothing is set or started before the breakpoints that are kept with the flow are known", async () => {
  let tell: (answer: Response) => void = () => undefined;
  const kept = new Promise<Response>((resolve) => {
    tell = resolve;
  });
  const asked = vi.fn(async (url: string) => {
    if (url.endsWith("/breakpoints")) return kept;
    if (url.endsWith("/repos")) return new Response("[]");
    return new Response(JSON.stringify(url.endsWith("/flows") ? [{ name: "shop", file: "shop.yaml" }] : FLOW));
  });
  vi.stubGlobal("fetch", asked);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <NewRunPage />
    </QueryClientProvider>,
  );
  await waitFor(() => expect(asked.mock.calls.map(([url]) => url)).toContain("/api/v1/flows/shop/breakpoints"));
  expect(screen.queryByRole("button", { name: "Start run" })).toBeNull();
  tell(new Response(JSON.stringify([{ step: "package" }])));

  await screen.findByRole("button", { name: "Start run" });
  screen.getByText("Breakpoints: package");
});
