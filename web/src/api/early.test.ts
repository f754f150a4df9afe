import { afterEach, expect, test, vi } from "vitest";
import { send } from "@/api/early";

const RUN = "/api/v1/runs/one";

afterEach(() => {
  window.asked = undefined;
  vi.unstubAllGlobals();
});

function answering(text: string) {
  vi.stubGlobal("fetch", async () => new Response(text));
}

test("an answer that was asked for early is taken once, and asked for again after that", async () => {
  answering("later");
  window.asked = { [RUN]: { answer: Promise.resolve(new Response("early")), leave: () => undefined } };

  expect(await (await send(RUN, {})).text()).toBe("early");
  expect(await (await send(RUN, {})).text()).toBe("later");
});

test("to delete a run is not answered with the run", async () => {
  answering("deleted");
  window.asked = { [RUN]: { answer: Promise.resolve(new Response("early")), leave: () => undefined } };

  expect(await (await send(RUN, { method: "DELETE" })).text()).toBe("deleted");
});

test("who took an answer and leaves ends it", () => {
  const leave = vi.fn();
  const leaving = new AbortController();
  window.asked = { [RUN]: { answer: new Promise(() => undefined), leave } };

  void send(RUN, { signal: leaving.signal });
  leaving.abort();

  expect(leave).toHaveBeenCalledOnce();
});
