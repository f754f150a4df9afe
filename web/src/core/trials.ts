/** Trials of the playground: their states, their groups in the history, and the results that are compared. */

export type TrialState = "queued" | "running" | "cancelling" | "passed" | "failed" | "cancelled";

export const MOST_COMPARED = 4;

export function isTrialOver(state: TrialState): boolean {
  return state === "passed" || state === "failed" || state === "cancelled";
}

type Timed = { state: TrialState; started_at: number | null; ended_at: number | null };

/** How long a trial has been at work; null if it never was. */
export function secondsOf({ started_at, ended_at }: Timed, now: number): number | null {
  return started_at === null ? null : Math.max(0, (ended_at ?? now) - started_at);
}

type Grouped = { id: string; group: string; created_at: number };

/** Trials by the group that they were started in, in the order of the first of each. */
export function groupsOf<Trial extends Grouped>(trials: readonly Trial[]): Trial[][] {
  const groups = new Map<string, Trial[]>();
  for (const trial of trials) groups.set(trial.group, [...(groups.get(trial.group) ?? []), trial]);
  return [...groups.values()].map((group) => [...group].reverse()); // the list has the newest first
}

/** The trials that are shown after a click on one: it comes or goes, and the one shown longest gives way. */
export function withToggled(shown: readonly string[], trial: string): string[] {
  if (shown.includes(trial)) return shown.filter((each) => each !== trial);
  return [...shown, trial].slice(-MOST_COMPARED);
}

type Changed = { path: string };

/** Each file that any of the results changed, with what each of them did to it. */
export function filesOf<File extends Changed>(
  results: readonly (readonly File[])[],
): { path: string; changes: (File | null)[] }[] {
  const paths = [...new Set(results.flatMap((files) => files.map(({ path }) => path)))].sort();
  const byPath = results.map((files) => new Map(files.map((file) => [file.path, file])));
  return paths.map((path) => ({ path, changes: byPath.map((files) => files.get(path) ?? null) }));
}

/** The first line of a prompt that has any text. */
export function titleOf(prompt: string): string {
  return (
    prompt
      .split("\n")
      .map((line) => line.trim())
      .find(Boolean) ?? ""
  );
}

/** A name for branches, made of any text. */
export function saveName(text: string): string {
  const name = text
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^-+/, "")
    .slice(0, 40)
    .replace(/-+$/, "");
  return name || "trial";
}
