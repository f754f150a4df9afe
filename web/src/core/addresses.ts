/** Occurrence addresses: a step's path with loop indices and attempts in it, such as `tests[2].unit#3`. */

/** The end of a file's path, which is what tells it from others where there is little room. */
export function shortFile(file: string): string {
  return file.split("/").slice(-2).join("/");
}

/** What a run's occurrences tell of turns and attempts, by the address before the `[` or the `#`. */
export type Addresses = { turns: Map<string, Set<number>>; attempts: Map<string, number> };

export function readAddresses(occurrences: Iterable<string>): Addresses {
  const turns = new Map<string, Set<number>>();
  const attempts = new Map<string, number>();
  for (const occurrence of occurrences) {
    for (const match of occurrence.matchAll(/\[(\d+)\]|#(\d+)/g)) {
      const before = occurrence.slice(0, match.index);
      if (match[1] !== undefined) {
        const known = turns.get(before);
        if (known) known.add(Number(match[1]));
        else turns.set(before, new Set([Number(match[1])]));
      } else {
        attempts.set(before, Math.max(attempts.get(before) ?? 1, Number(match[2])));
      }
    }
  }
  return { turns, attempts };
}

/** The attempt that an occurrence is, from 1. */
export function attemptOf(occurrence: string): number {
  return Number(/#(\d+)$/.exec(occurrence)?.[1] ?? 1);
}

/** The address of the try that comes after one. */
export function nextAttempt(occurrence: string): string {
  return `${withoutAttempt(occurrence)}#${attemptOf(occurrence) + 1}`;
}

/** The address without its attempt: the same for every try of one step. */
export function withoutAttempt(occurrence: string): string {
  return occurrence.replace(/#\d+$/, "");
}

/** The call inside a step that an address names, such as `3/1` in `fix/3/1`; null for the address of a step. */
export function callOf(address: string): string | null {
  const at = address.indexOf("/");
  return at === -1 || address.includes("+", at) ? null : address.slice(at + 1); // a step can be injected before a call
}

/** The step that makes a call; the address itself if it names a step. */
export function hostOf(address: string): string {
  return callOf(address) === null ? address : address.slice(0, address.indexOf("/"));
}

/** A path in words, where no title is at hand: "call 3 of fix", or the path itself. */
export function wordsOf(path: string): string {
  const call = callOf(path);
  return call === null ? path : `call ${call} of ${hostOf(path)}`;
}

/** The path that the plan has for a step: of a call, or of an injected step, that of the step it belongs to. */
export function plannedPath(path: string): string {
  return path.split(/[+/]/, 1)[0] ?? path;
}
