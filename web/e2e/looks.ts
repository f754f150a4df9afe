/** What is wrong with what a page shows, by axe and by its own measures, in light, in dark and on a telephone. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { twoFrames } from "./stage.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SMALLEST_TEXT = 10.5; // pixels
const SMALLEST_TARGET = 20; // pixels; what is smaller has room around it

type Look = { theme: "light" | "dark"; size: { width: number; height: number } };

const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 390, height: 844 };
const LIGHT: Look = { theme: "light", size: WIDE };
export const DARK: Look = { theme: "dark", size: WIDE };
const LIGHT_NARROW: Look = { theme: "light", size: NARROW };
export const DARK_NARROW: Look = { theme: "dark", size: NARROW };

/** This look and the usual one, and in `make soak` all there are. The usual one is last, so that the page is left in it. */
export function looks(other: Look): readonly Look[] {
  return process.env.PITSTOP_TESTS === "soak" ? [LIGHT_NARROW, DARK_NARROW, DARK, LIGHT] : [other, LIGHT];
}

/** What is wrong in each of the looks, by what is looked at. */
export async function problemsOf(page: Page, name: string, all: readonly Look[]): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const look of all) {
    await show(page, look);
    const problems = [...(await violations(page)), ...(await measure(page))];
    if (problems.length > 0) found[`${name}, ${look.theme}, ${look.size.width} px`] = problems;
  }
  return found;
}

async function show(page: Page, { theme, size }: Look): Promise<void> {
  await page.setViewportSize(size);
  await page.evaluate((theme) => {
    document.documentElement.dataset.theme = theme;
  }, theme);
  await page.evaluate(twoFrames);
  await page.waitForFunction(() => document.getAnimations().every((each) => each.playState !== "running"));
}

type Violation = { id: string; nodes: { html: string; failureSummary: string }[] };

async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE);
  const found = (await page.evaluate(
    "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] }).then((told) => told.violations)",
  )) as Violation[];
  return found.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 200)}`),
  );
}

export function measure(page: Page): Promise<string[]> {
  return page.evaluate(lookAt, [SMALLEST_TEXT, SMALLEST_TARGET]);
}

/** In the page: what is too wide, too small or has no name. */
function lookAt([smallestText, smallestTarget]: number[]): string[] {
  const isSeen = (element: Element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const problems: string[] = [];
  const { scrollWidth, clientWidth, lang } = document.documentElement;
  if (scrollWidth > clientWidth) problems.push(`the page is ${scrollWidth - clientWidth} px wider than the window`);
  for (const element of document.querySelectorAll("main *, [role=dialog] *, [role=alertdialog] *")) {
    const isScroller = ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
    const isTooWide = isScroller && isSeen(element) && element.scrollWidth > element.clientWidth + 1;
    if (isTooWide && !element.matches(".cm-scroller, [role=tablist], [role=log], [data-board]"))
      problems.push(`scrolls sideways: ${element.outerHTML.slice(0, 120)}`);
  }
  for (const tab of document.querySelectorAll("[role=tab][aria-selected=true]")) {
    const { left, right } = tab.getBoundingClientRect();
    const row = tab.parentElement?.getBoundingClientRect();
    if (row && isSeen(tab) && (left < row.left - 1 || right > row.right + 1))
      problems.push(`the active tab is out of sight: ${tab.textContent}`);
  }
  if (!lang) problems.push("no language");
  if (!document.title.includes("Pitstop")) problems.push(`the title is ${document.title}`);
  if (!document.querySelector("meta[name=viewport]")) problems.push("no viewport");
  if (!document.querySelector("meta[name=description]")) problems.push("no description");
  if (document.querySelectorAll("main").length !== 1) problems.push("not one main part");
  const headings = [...document.querySelectorAll("h1")].filter(isSeen);
  if (headings.length !== 1) problems.push(`${headings.length} headings of the first level`);
  for (const element of document.querySelectorAll("button, a[href], input, select, textarea")) {
    const { width, height } = element.getBoundingClientRect();
    const isSmall = width > 1 && Math.min(width, height) < (smallestTarget ?? 0);
    const isInText =
      getComputedStyle(element).display === "inline" || element.closest("[role=tree], [role=listbox], .react-flow");
    const isChoice = element instanceof HTMLInputElement && ["checkbox", "radio", "range"].includes(element.type);
    if (isSeen(element) && isSmall && !isInText && !isChoice)
      problems.push(`${Math.round(width)} x ${Math.round(height)} px: ${element.outerHTML.slice(0, 120)}`);
  }
  for (const element of document.querySelectorAll("main *")) {
    const hasText = [...element.childNodes].some(
      (node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim(),
    );
    const size = Number.parseFloat(getComputedStyle(element).fontSize);
    if (hasText && isSeen(element) && size < (smallestText ?? 0))
      problems.push(`${size} px: ${element.textContent?.slice(0, 40)}`);
  }
  for (const image of document.querySelectorAll("img"))
    if (!image.hasAttribute("alt")) problems.push(`no alt: ${image.src}`);
  return problems;
}
