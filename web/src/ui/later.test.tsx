import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import { Boundary } from "@/ui/boundary";
import { later } from "@/ui/later";

afterEach(cleanup);

const Page = ({ title }: { title: string }) => <h1>{title}</h1>;

test("what stands in is shown until the code is there", async () => {
  let arrive = (_code: typeof Page) => {};
  const Later = later(
    () =>
      new Promise<typeof Page>((resolve) => {
        arrive = resolve;
      }),
  );
  render(<Later title="Runs" />);
  expect(screen.getByRole("status").textContent).toBe("Loading");

  arrive(Page);

  await screen.findByRole("heading", { name: "Runs" });
});

test("what was loaded before is drawn at once", async () => {
  const Later = later(async () => Page);
  await Later.load();

  render(<Later title="Runs" />);

  screen.getByRole("heading", { name: "Runs" });
});

test("code that could not be loaded is told, and asked for again on demand", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined); // React tells of it as well
  const fetchCode = vi.fn(async () => Page);
  fetchCode.mockRejectedValueOnce(new Error("the server is gone"));
  const Later = later(fetchCode);
  render(
    <Boundary>
      <Later title="Runs" />
    </Boundary>,
  );
  await screen.findByText("the server is gone");

  await userEvent.click(screen.getByRole("button", { name: "Try again" }));

  await screen.findByRole("heading", { name: "Runs" });
});
