/** Filters a scope off the page's own thread: megabytes are fetched, parsed and searched without a hitch. */

import { searchValues } from "@/core/search-values";

export type SearchQuestion = { id: number; url: string; version: string; text: string };
export type SearchAnswer = {
  id: number;
  found: ReturnType<typeof searchValues>["found"];
  total: number;
  error?: string;
};

const MOST = 500;
let kept: { version: string; scope: Promise<unknown> } | null = null;

self.addEventListener("message", async ({ data: { id, url, version, text } }: MessageEvent<SearchQuestion>) => {
  if (kept?.version !== version) kept = { version, scope: fetch(url).then((response) => response.json()) };
  try {
    self.postMessage({ id, ...searchValues(await kept.scope, text, MOST) } satisfies SearchAnswer);
  } catch (error) {
    kept = null;
    self.postMessage({ id, found: [], total: 0, error: String(error) } satisfies SearchAnswer);
  }
});
