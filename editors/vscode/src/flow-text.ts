/** What can be told of a YAML text without a YAML parser: whether it is a flow, and where its steps begin. */

export type StepLine = { line: number; id: string };

const TOP_KEY = /^([A-Za-z_][\w-]*):/;
const STEP_ID = /^\s*(?:-\s+)?id:\s*["']?([A-Za-z_][\w-]*)["']?\s*(?:#.*)?$/;

/** A flow has steps and, unlike a workflow of GitHub, no `jobs`. */
export function isFlow(text: string): boolean {
  const keys = new Set<string>();
  for (const line of text.split("\n", 500)) {
    const key = TOP_KEY.exec(line)?.[1];
    if (key !== undefined) keys.add(key);
  }
  return keys.has("steps") && !keys.has("jobs");
}

/** The line of the `steps:` key, from 0; where a lens fits best. */
export function stepsLine(text: string): number {
  return Math.max(0, text.split("\n").findIndex((line) => line.startsWith("steps:")));
}

/** The lines, from 0, that name a step. */
export function stepLines(text: string): StepLine[] {
  return text.split("\n").flatMap((content, line) => {
    const id = STEP_ID.exec(content)?.[1];
    return id === undefined ? [] : [{ line, id }];
  });
}
