import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { Clone } from "./clone.ts";
import { openStage, PATIENCE, RunDriver, twoFrames } from "./stage.ts";

const stage = openStage(join(import.meta.dirname, "../../examples/broken"));

const AGENT = `extends: aider
command: [sh, agent.sh]
stdin: prompt
stream: lines
secrets: []
files: {}
api: null
`;
const AGENT_SCRIPT = `prompt=$(cat)
case $prompt in
*price.txt*)
  price=$(tr , . < price.txt)
  case $prompt in *currency*CHF*) price="$price CHF" ;; esac
  echo "$price" > price.txt ;;
*) if grep -q '<<<<' hours.txt; then echo 8-18, Sunday 10-14; else echo 9-18, Sunday 10-14; fi > hours.new
  mv hours.new hours.txt ;;
esac
`;
const JUDGE = `on: {card_complete: {labels: [checked], on_pass: merge}}
steps: [{id: currency, run: grep -q CHF price.txt}]
`;

let page: Page;
let other: Page;
let clone: Clone;

beforeAll(async () => {
  const { server, browser, context } = stage();
  clone = await Clone.elsewhere(server, "till");
  await clone.commit("Add a till", {
    ".pitstop/agents/fixer.yaml": AGENT,
    ".pitstop/flows/judge.yaml": JUDGE,
    "agent.sh": AGENT_SCRIPT,
    "price.txt": "12,50\n",
    "hours.txt": "9-18\n",
  });
  await clone.git("push", "--quiet", "origin", "main");
  await clone.pitstop("ingest");
  page = await context.newPage();
  await page.emulateMedia({ reducedMotion: "reduce" });
  const second = await browser.newContext({ storageState: await context.storageState() });
  second.setDefaultTimeout(PATIENCE);
  other = await second.newPage(); // in a window of its own: a page behind another draws few frames
});

const open = (path: string, on = page) => on.goto(stage().server.origin + path);
const column = (name: string, on = page): Locator => on.getByRole("region", { name, exact: true });
const cardIn = (name: string, title: string, on = page): Locator =>
  column(name, on).getByRole("link", { name: new RegExp(title) });
const dialog = (name: string | RegExp): Locator => page.getByRole("dialog", { name });
const press = (name: string, within: Page | Locator = page) =>
  within.getByRole("button", { name, exact: true }).click();
const lines = (file: string): Locator => page.getByRole("group", { name: `Lines of ${file}` });
/** Waits until the open page of a card shows where the card is. */
const cardIs = (status: string) => page.locator("main header").first().getByText(status, { exact: true }).waitFor();

test("a card is created with a preview of its prompt, and gets into review on the open boards", async () => {
  await open("/repos/till");
  await page.getByRole("link", { name: "Board", exact: true }).click();
  await page.getByText("No cards yet").waitFor();
  await open("/repos/till/board", other);
  await other.getByText("No cards yet").waitFor();

  await press("New card");
  const form = dialog("New card");
  await form.getByLabel("Title").fill("Repair the price");
  await form.getByLabel("Description").fill("The price in price.txt has a comma.");
  await form.getByRole("combobox", { name: /^Agent/ }).fill("fixer");
  await form.getByLabel("Labels").fill("checked,");
  await press("Preview the prompt", form);
  await form.getByText("The price in price.txt has a comma.").nth(1).waitFor();
  await form.getByText("agent: fixer").waitFor();
  await press("Create", form);
  await form.waitFor({ state: "detached" });
  await cardIn("Todo", "Repair the price", other).waitFor();

  await cardIn("Todo", "Repair the price").focus();
  await page.keyboard.press("s");
  await cardIn("In review", "Repair the price").waitFor();
  await cardIn("In review", "Repair the price", other).waitFor();
});

test("its diff is read, and the agent does what a note on a line and the guidance ask for", async () => {
  await cardIn("In review", "Repair the price").click();
  await cardIs("In review");
  await lines("price.txt").getByText("12.50").hover();
  await press("Add a note on line 1");
  await page.getByRole("textbox", { name: "Write a note on line 1" }).fill("Add the currency");
  await page.keyboard.press("Control+Enter");
  await lines("price.txt").getByRole("article", { name: "Review by owner" }).getByText("Add the currency").waitFor();

  await press("Retry…");
  await dialog("Start another attempt").getByLabel("Guidance").fill("The currency is CHF.");
  await press("Start", dialog("Start another attempt"));
  await cardIs("Done"); // the flow that judges it has merged it
  await page.getByText("12.50 CHF").waitFor();
  await page.getByRole("button", { name: /^Attempt 2 passed/ }).click();
  const prompt = page.getByRole("group", { name: "Prompt of attempt 2" });
  await prompt.getByText(/price.txt.*1.*Add the currency/s).waitFor();
  await page.getByLabel("Changes to show").selectOption("Compare attempts");
  await lines("price.txt").getByText("12.50", { exact: true }).waitFor();
});

test("what was merged is landed, as the card and the board show", async () => {
  await clone.pitstop("land");
  await page.getByText("Landed", { exact: true }).waitFor();
  await cardIn("Done", "Repair the price", other).getByText("landed").waitFor();
  await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: "Board" }).click();
  await cardIn("Done", "Repair the price").getByText("landed").waitFor();
});

const CONFLICTING = ["Open on Sunday", "Sunday, too", "Every Sunday"] as const;

test("cards are started with the mouse and with keys, and a drag of what has changed meanwhile is refused", async () => {
  for (const title of CONFLICTING)
    await ask("/repos/till/cards", "POST", { title, work: { agent: "fixer" }, labels: ["hours"] });
  const [first, second, third] = CONFLICTING.map((title) => cardIn("Todo", title)) as [Locator, Locator, Locator];
  await third.waitFor();
  const id = await third.getAttribute("data-card");
  await page.route(`**/cards/${id}/move`, async (route) => {
    await ask(`/cards/${id}`, "PATCH", { description: "Not before ten." }); // by another user, at the same time
    await route.continue();
  });
  await drag(third, first, () => page.locator("[data-column=todo] .bg-accent[aria-hidden]").waitFor());
  await page.getByText(/^Card #4 was changed by another user/).waitFor();
  await expect
    .poll(() => column("Todo").getByRole("link").allInnerTexts())
    .toEqual(CONFLICTING.map((title) => expect.stringContaining(title)));

  await drag(first, column("In progress"), () => column("In progress").getByText("Drop to start").waitFor());
  await first.waitFor({ state: "detached" });
  await second.focus();
  await page.keyboard.press("Space");
  await page
    .getByRole("status")
    .filter({ hasText: /^Card 3: Todo/ })
    .waitFor();
  await page.evaluate(twoFrames); // then it takes keys
  await page.keyboard.press("ArrowRight");
  await page.getByRole("status").filter({ hasText: "Dropping the card starts its work" }).waitFor();
  await page.keyboard.press("Space");
  await third.focus();
  await page.keyboard.press("s");
  for (const title of CONFLICTING) await cardIn("In review", title, other).waitFor();
});

test("keys lead from card to card, open one and create one", async () => {
  for (const title of CONFLICTING) await cardIn("In review", title).waitFor();
  const order = await column("In review").getByRole("link").evaluateAll(idsOf);
  await page.locator(`[data-card=${order[0]}]`).focus();
  await page.keyboard.press("ArrowDown");
  expect(await focused()).toBe(order[1]);
  await page.keyboard.press("ArrowRight");
  expect(await focused()).toBe("till-1");
  await page.keyboard.press("ArrowLeft");
  expect(await focused()).toBe(order[0]);
  await page.keyboard.press("n");
  await dialog("New card").getByLabel("Title").and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Escape");
  await dialog("New card").waitFor({ state: "detached" });
  await page.locator(`[data-card=${order[0]}]`).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/cards/${order[0]}`);
});

test("a conflict is resolved by the agent, then the card is approved", async () => {
  await clone.git("pull", "--quiet", "--ff-only", "pitstop", "main");
  await clone.commit("Open earlier", { "hours.txt": "8-18\n" });
  await clone.push();
  const conflict = await approve(CONFLICTING[0]);
  await conflict.getByText("both change the same lines").waitFor();
  await press("Let the agent resolve it", conflict);
  await cardIs("In review");
  await page.getByRole("button", { name: /^Attempt 2 passed.*branch update/ }).waitFor();
  await lines("hours.txt").getByText("8-18, Sunday 10-14").waitFor();
  await press("Approve…");
  await press("Approve", dialog("Approve and merge"));
  await cardIs("Done");
});

test("a conflict is resolved by hand in the paused run that the card links to", async () => {
  const conflict = await approve(CONFLICTING[1]);
  await press("Resolve by hand", conflict);
  await page.getByRole("link", { name: /^Paused before .*: open the debugger$/ }).click();
  const run = await driver();
  await run.stopsAt(/^Paused before /);
  await run.tab("Shell");
  await press("Open shell", page.getByRole("tabpanel", { name: "Shell" }));
  await page.locator(".xterm-rows").getByText(/[$#]/).first().waitFor();
  await page.keyboard.type("echo 8-18, Sunday 9-14 > hours.txt && echo rep''aired\n");
  await page.locator(".xterm-rows").getByText("repaired").first().waitFor();
  await run.press("Continue");
  await run.endsAs("passed");
  await goToCard(CONFLICTING[1]);
  await cardIs("In review");
  await lines("hours.txt").getByText("8-18, Sunday 9-14").waitFor();
  await press("Approve…");
  await press("Approve", dialog("Approve and merge"));
  await cardIs("Done");
});

test("a card that conflicts is rejected, and its reason is told to the next attempt", async () => {
  const conflict = await approve(CONFLICTING[2]);
  await press("Reject…", conflict);
  await dialog("Reject the work?").getByLabel("Reason").fill("We are open on Sunday already.");
  await press("Reject", dialog("Reject the work?"));
  await cardIs("Todo");
  await conflict.waitFor({ state: "detached" });
  await page
    .getByRole("article", { name: /by owner/ })
    .getByText("We are open on Sunday already.")
    .waitFor();
});

test("a card is debugged from its page: its run pauses at its first step", async () => {
  await open("/repos/till/board");
  await column("Todo").waitFor();
  await page.keyboard.press("n");
  const form = dialog("New card");
  await form.getByLabel("Title").fill("Count the sales");
  await form.getByText("Script", { exact: true }).click();
  await form.getByRole("textbox", { name: /^Script/ }).fill("echo 41 > sales.txt");
  await press("Create", form);
  await cardIn("Todo", "Count the sales").click();
  await press("Debug");
  await page.getByRole("link", { name: /^Paused before .*: open the debugger$/ }).waitFor();
  await cardIn("In progress", "Count the sales", other).getByText("paused").waitFor();
  await page.getByRole("link", { name: /^Paused before .*: open the debugger$/ }).click();
  const run = await driver();
  await run.stopsAt(/^Paused before /);
  await run.press("Continue");
  await run.endsAs("passed");
  await cardIn("In review", "Count the sales", other).waitFor();
});

/** Open a card and approve it, which conflicts; what the card then shows. */
async function approve(title: string): Promise<Locator> {
  await goToCard(title);
  await press("Approve…");
  await press("Approve", dialog("Approve and merge"));
  const conflict = page.getByRole("region", { name: /^Cannot merge: 1 conflicting file/ });
  await conflict.waitFor();
  return conflict;
}

async function goToCard(title: string): Promise<void> {
  await open("/repos/till/board");
  await page.locator("[data-card]").filter({ hasText: title }).click();
  await page.getByRole("heading", { name: title, level: 1 }).waitFor();
}

/** Drag with the mouse. It is released when the board shows where it would be dropped. */
async function drag(what: Locator, to: Locator, isOver: () => Promise<void>): Promise<void> {
  const [from, target] = [await what.boundingBox(), await to.boundingBox()];
  if (!from || !target) throw new Error("nothing to drag");
  await page.mouse.move(from.x + 20, from.y + 12);
  await page.mouse.down();
  await page.mouse.move(from.x + 40, from.y + 20, { steps: 4 });
  await page.mouse.move(target.x + 40, target.y + 4, { steps: 6 });
  await isOver();
  await page.mouse.up();
}

async function ask(path: string, method: string, data: object): Promise<void> {
  const { server, context } = stage();
  const headers = { origin: server.origin };
  const answer = await context.request.fetch(`${server.origin}/api/v1${path}`, { method, headers, data });
  expect(answer.ok(), await answer.text()).toBe(true);
}

function idsOf(cards: Element[]): string[] {
  return cards.map((card) => card.getAttribute("data-card") ?? "");
}

function focused(): Promise<string | null> {
  return page.evaluate(() => document.activeElement?.getAttribute("data-card") ?? null);
}

/** The run whose page is opened now. */
async function driver(): Promise<RunDriver> {
  await page.waitForURL(/\/runs\//);
  const id = decodeURIComponent(new URL(page.url()).pathname.split("/")[2] ?? "");
  return new RunDriver(page, id, stage().server.origin);
}
