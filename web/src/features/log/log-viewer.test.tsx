import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { LogViewer } from "@/features/log/log-viewer";

afterEach(cleanup);

function serve(pages: object[]) {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (url: string) => {
    asked.push(url);
    return new Response(JSON.stringify(pages[Math.min(asked.length, pages.length) - 1]), { status: 200 });
  });
  return asked;
}

const line = (number: number) => ({ number, stream: "stdout", time: 0, text: `line ${number}` });

test("a log in several pages is read to its end, each page after the last line of the one before", async () => {
  const asked = serve([
    { occurrence: "build", lines: [line(1), line(2)], next: 2, is_ended: false },
    { occurrence: "build", lines: [line(3)], next: null, is_ended: true },
  ]);
  render(<LogViewer run="r1" occurrence="build" title="build" isWriting={false} hasFailed={false} />);

  await screen.findByText("3 lines");
  expect(asked.map((url) => new URL(url, "http://x").searchParams.get("after"))).toEqual(["0", "2"]);
});

test("a step that wrote nothing says so", async () => {
  serve([{ occurrence: "build", lines: [], next: null, is_ended: true }]);
  render(<LogViewer run="r1" occurrence="build" title="build" isWriting={false} hasFailed={false} />);

  await screen.findByText("No output");
});

test("a log that cannot be read says why", async () => {
  vi.stubGlobal(
    "fetch",
    async () =>
      new Response(JSON.stringify({ status: 404, code: "unknown.run", detail: "there is no run r1" }), { status: 404 }),
  );
  render(<LogViewer run="r1" occurrence="build" title="build" isWriting={false} hasFailed={false} />);

  await screen.findByText("there is no run r1");
});
