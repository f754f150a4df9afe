/** Filters a scope off the page's own thread: megabytes are fetched, parsed and searched without a hitch. */

import type { WholeScope } from "@/api/generated";
import { searchValues } from "@/core/search-values";

export type SearchQuestion = { id: number; url: string; version: string; text: string };
export type SearchAnswer = {
  id: number;
  found: ReturnType<typeof searchValues>["found"];
  total: number;
  /** The paths of what was too large to be searched. */
  cut: string[];
  error?: string;
};

const MOST = 500;
let kept: { version: string; scope: Promise<WholeScope> } | null = null;

self.addEventListener("message", async ({ data: { id, url, version, text } }: MessageEvent<SearchQuestion>) => {
  if (kept?.version !== version) kept = { version, scope: readScope(url) };
  try {
    const { scope, cut } = await kept.scope;
    if (!text) return; // it was only made ready
    self.postMessage({ id, cut, ...searchValues(scope, text, MOST) } satisfies SearchAnswer);
  } catch (error) {
    kept = null;
    self.postMessage({ id, found: [], total: 0, cut: [], error: String(error) } satisfies SearchAnswer);
  }
});

async function readScope(url: string): Promise<WholeScope> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`cannot read the scope: status ${response.status}`);
  return (await response.json()) as WholeScope;
}
