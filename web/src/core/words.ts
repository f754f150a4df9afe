/** Counts in words. */

/** "1 file", "3 files". */
export function countWords(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}

/** "18k tokens"; nothing if it is not known. */
export function tokenWords(tokens: number | null | undefined): string {
  return typeof tokens === "number" ? `${shortCount(tokens)} tokens` : "";
}

function shortCount(count: number): string {
  if (count < 1000) return `${count}`;
  return count < 1e6 ? `${(count / 1000).toFixed(count < 10_000 ? 1 : 0)}k` : `${(count / 1e6).toFixed(1)}M`;
}
