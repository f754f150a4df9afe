/** What every story needs: one server, one browser that is logged in, and the page by the words that are on it. */

import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { openBrowser } from "../dev/browser.ts";
import { Server } from "./server.ts";

/** How long anything may take to be seen, in milliseconds: a busy machine may stand still for a while. */
export const PATIENCE = 90_000;

type Debug = { stop_at_entry?: boolean; stop_on_error?: boolean; breakpoints?: object[] };

export class Stage {
  constructor(
    readonly server: Server,
    readonly browser: Browser,
    readonly context: BrowserContext,
  ) {}

  /** Start a run by the API and open its page. */
  async openRun(flow: string, debug: Debug = {}, inputs: object = {}): Promise<RunDriver> {
    const response = await this.context.request.post(`${this.server.origin}/api/v1/runs`, {
      headers: { origin: this.server.origin },
      data: { flow: { name: flow }, inputs, debug: { stop_on_error: true, flow_breakpoints: false, ...debug } },
    });
    expect(response.status()).toBe(201);
    return this.openPage(((await response.json()) as { id: string }).id);
  }

  async openPage(run: string, origin = this.server.origin): Promise<RunDriver> {
    const page = await this.context.newPage();
    await page.addInitScript(keepMessages);
    await page.goto(`${origin}/runs/${run}`);
    return new RunDriver(page, run, this.server.origin);
  }
}

/** In the page: keep what is told in passing, which may be gone before anybody looks. */
function keepMessages(): void {
  const told: string[] = [];
  Object.assign(window, { told });
  new MutationObserver((changes) => {
    for (const added of changes.flatMap((change) => [...change.addedNodes])) {
      if (added instanceof Element && added.closest("[role=log][aria-label=Messages]")) told.push(added.textContent);
    }
  }).observe(document, { childList: true, subtree: true });
}

/** A run page, driven as a person does it. */
export class RunDriver {
  constructor(
    readonly page: Page,
    readonly id: string,
    readonly origin: string,
  ) {}

  async sees(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).first().waitFor();
  }

  /** Waits until this was told in passing. */
  async isTold(words: string | RegExp): Promise<void> {
    const told = () => this.page.evaluate(() => (window as unknown as { told: string[] }).told);
    await expect.poll(told, { timeout: PATIENCE }).toContainEqual(expect.stringMatching(words));
  }

  /** Waits until the toolbar tells of this stop. */
  async stopsAt(words: string | RegExp): Promise<void> {
    const told = this.page.getByRole("toolbar", { name: "Debugger" }).getByRole("status");
    await this.#seen(told.filter({ hasText: words }));
  }

  async endsAs(status: string): Promise<void> {
    await this.#seen(this.page.locator("main header").first().getByText(status, { exact: true }));
  }

  /** Waits for it; when it does not come, what the server and the page say instead is part of the failure. */
  async #seen(wanted: Locator): Promise<void> {
    try {
      await wanted.waitFor();
    } catch (error) {
      const run = await this.page.context().request.get(`${this.origin}/api/v1/runs/${this.id}/steps`);
      const page = await this.page.locator("main").innerText();
      throw new Error(
        `${error}\nserver: ${await run.text()}\ndebugger: ${JSON.stringify(await this.state())}\npage: ${page}`,
      );
    }
  }

  async press(label: string): Promise<void> {
    await this.page.getByRole("button", { name: label, exact: true }).click();
  }

  async tab(name: string): Promise<void> {
    await this.page.getByRole("tab", { name }).click();
  }

  box(id: string): Locator {
    return this.page.locator(`[data-box="${id}"]`);
  }

  /** Waits until the box of a step has this status. */
  async boxIs(id: string, status: string): Promise<void> {
    const box = this.box(id).and(this.page.locator(`[data-status=${status}]`));
    await box.waitFor({ state: "attached" });
  }

  /** What a step wrote, from the log panel. */
  async logHas(text: string): Promise<void> {
    await this.tab("Log");
    await this.page.getByRole("log", { name: "Lines" }).getByText(text).first().waitFor();
  }

  /** Tab, or Shift+Tab, until the focus is on it. */
  async tabTo(wanted: Locator, key = "Tab"): Promise<void> {
    await tabTo(this.page, wanted, key);
  }

  /** Do something by its name, in the palette. */
  async palette(words: string): Promise<void> {
    await this.page.keyboard.press("Control+k");
    const field = this.page.getByRole("combobox", { name: "Search commands" });
    await field.and(this.page.locator(":focus")).waitFor();
    await this.page.keyboard.type(words);
    await this.page.getByRole("option", { name: words, selected: true }).waitFor(); // as soon as it can be done
    await this.page.keyboard.press("Enter");
    await field.waitFor({ state: "detached" });
    await this.page.evaluate(twoFrames); // then the focus is where it goes
  }

  /** Give a value of the variables another one, at the stop that is shown. */
  async edit(name: string, value: string): Promise<void> {
    await this.tab("Variables");
    const row = this.page.getByRole("treeitem", { name: new RegExp(`^${name}`) });
    await row.dblclick();
    await this.page.getByRole("textbox", { name: `New value of .vars.${name}` }).fill(value);
    await this.page.keyboard.press("Enter");
    await row.getByText(value).waitFor();
  }

  /** The debugger's state, as the server tells it. */
  async state(): Promise<{ stops: { id: number; step: string }[] }> {
    const response = await this.page.context().request.get(`${this.origin}/api/v1/runs/${this.id}/debug`);
    return (await response.json()) as { stops: { id: number; step: string }[] };
  }

  async command(verb: string, body: object): Promise<number> {
    const response = await this.page.context().request.post(`${this.origin}/api/v1/runs/${this.id}/debug/${verb}`, {
      headers: { origin: this.origin },
      data: body,
    });
    return response.status();
  }

  async close(): Promise<void> {
    await this.page.close();
  }
}

/** In the page: what was to be done with the next frame is done. */
export function twoFrames(): Promise<number> {
  return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}

const MOST_TABS = 80;

export async function tabTo(page: Page, wanted: Locator, key = "Tab"): Promise<void> {
  await wanted.waitFor();
  for (let presses = 0; presses < MOST_TABS; presses++) {
    if (await wanted.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press(key);
  }
  throw new Error(`${MOST_TABS} presses of ${key} did not lead to ${wanted}`);
}

/** One server and one browser for a file of stories. */
export function openStage(flows?: string): () => Stage {
  let stage: Stage;
  beforeAll(async () => {
    const server = await Server.start(flows);
    const browser = await openBrowser();
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    await page.goto(server.login);
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    await page.close();
    stage = new Stage(server, browser, context);
  });
  afterAll(async () => {
    await stage?.browser.close();
    await stage?.server.stop();
  });
  return () => stage;
}
