/** How a picture of the documentation is taken. */

import { join } from "node:path";
import type { Page } from "playwright-core";

const FOLDER = process.env.PICTURES ?? join(import.meta.dirname, "../../docs/pictures/web");

export const SIZE = { width: 1280, height: 800 };
export const THEMES = ["light", "dark"] as const;

export async function takePicture(page: Page, name: string): Promise<void> {
  await page.bringToFront(); // a page behind another draws no frames
  await page.mouse.move(0, 0);
  await page.waitForFunction(
    () => document.fonts.status === "loaded" && !document.querySelector(".late, [aria-busy=true], .animate-pulse"),
  );
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  await page.screenshot({ path: join(FOLDER, `${name}.png`) });
}
