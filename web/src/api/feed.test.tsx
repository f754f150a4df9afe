import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type News, Throttle, useFeed } from "@/api/feed";

type Asked = {
  url: string;
  lastId: string | null;
  tell: (text: string) => void;
  end: () => void;
  isLeft: () => boolean;
};

let asked: Asked[];

/** Answers each request for the feed with a stream that the test writes. */
function serve(status = 200) {
  asked = [];
  vi.stubGlobal("fetch", async (url: string, { headers, signal }: RequestInit) => {
    let writer: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        writer = controller;
      },
    });
    asked.push({
      url,
      lastId: new Headers(headers).get("last-event-id"),
      tell: (text) => writer?.enqueue(new TextEncoder().encode(text)),
      end: () => writer?.close(),
      isLeft: () => signal?.aborted ?? false,
    });
    return new Response(status === 200 ? body : null, { status });
  });
}

const event = (id: number, kind = "push.received") =>
  `id: ${id}\nevent: ${kind}\ndata: ${JSON.stringify({ id, at: 0, topic: "repo:shop", kind, body: {} })}\n\n`;

beforeEach(() => serve());
afterEach(cleanup);

test("all who follow the same topics share one connection, which is closed when the last one leaves", async () => {
  const [one, other] = [vi.fn(), vi.fn()];
  const first = renderHook(() => useFeed(["runs", "repo:shop"], one));
  const second = renderHook(() => useFeed(["runs", "repo:shop"], other));
  await waitFor(() => expect(second.result.current).toBe("live"));
  expect(asked.map((each) => each.url)).toEqual(["/api/v1/feed?topic=runs&topic=repo%3Ashop"]);

  await act(async () => asked[0]?.tell(event(7)));
  for (const onNews of [one, other]) {
    await waitFor(() => expect(onNews.mock.calls.at(-1)?.[0]).toMatchObject([{ id: 7, kind: "push.received" }]));
  }
  first.unmount();
  expect(asked[0]?.isLeft()).toBe(false);
  second.unmount();
  expect(asked[0]?.isLeft()).toBe(true);
});

test("a connection is made again after the last event, and says that anything may have happened", async () => {
  const onNews = vi.fn();
  const { result } = renderHook(() => useFeed(["runs"], onNews));
  await waitFor(() => expect(result.current).toBe("live"));
  await waitFor(() => expect(onNews).toHaveBeenCalledWith([]));
  await act(async () => asked[0]?.tell(event(41)));
  await act(async () => asked[0]?.end());
  await waitFor(() => expect(asked).toHaveLength(2));
  expect(asked[1]?.lastId).toBe("41");
  await waitFor(() => expect(result.current).toBe("live"));
  await waitFor(() => expect(onNews.mock.calls.at(-1)?.[0]).toEqual([]));
});

function hide(isHidden: boolean) {
  vi.spyOn(document, "hidden", "get").mockReturnValue(isHidden);
  act(() => void document.dispatchEvent(new Event("visibilitychange")));
}

test("a page that is not looked at holds no connection, and asks for everything when it is looked at again", async () => {
  const onNews = vi.fn();
  const { result } = renderHook(() => useFeed(["runs"], onNews));
  await waitFor(() => expect(result.current).toBe("live"));
  hide(true);
  expect(asked[0]?.isLeft()).toBe(true);
  expect(result.current).toBe("connecting");
  onNews.mockClear();
  hide(false);
  await waitFor(() => expect(result.current).toBe("live"));
  expect(asked).toHaveLength(2);
  await waitFor(() => expect(onNews).toHaveBeenCalledWith([]));
});

test("a server without a feed is noticed, and not asked again", async () => {
  serve(404);
  const { result } = renderHook(() => useFeed(["runs"], vi.fn()));
  await waitFor(() => expect(result.current).toBe("ended"));
  expect(asked).toHaveLength(1);
});

test("news that come fast are taken together, and the next call waits until the last one is done", async () => {
  const calls: { news: readonly News[]; finish: () => void }[] = [];
  const throttle = new Throttle((news) => new Promise<void>((finish) => calls.push({ news, finish })));
  const news = (id: number): News => ({ id, at: 0, topic: "runs", kind: "run.started", body: {} });
  throttle.push([news(1)]);
  throttle.push([news(2)]);
  throttle.push([news(3)]);
  expect(calls.map((each) => each.news.map(({ id }) => id))).toEqual([[1]]);
  calls[0]?.finish();
  await waitFor(() => expect(calls).toHaveLength(2));
  expect(calls[1]?.news.map(({ id }) => id)).toEqual([2, 3]);
  throttle.close();
});
