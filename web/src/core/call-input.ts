/** The input of a tool call as texts that can be edited, and back: a string as it is, anything else as JSON. */

type Input = Readonly<Record<string, unknown>>;

export function editableInput(input: Input): Record<string, string> {
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [
      name,
      typeof value === "string" ? value : JSON.stringify(value, null, 2),
    ]),
  );
}

/** An edit as the lines of a patch, if the input is one: agents give a patch, or the text before and after. */
export function patchIn(input: Input): { lines: string; fields: readonly string[] } | null {
  for (const [before, after] of [["old_string", "new_string"] as const, ["old_str", "new_str"] as const]) {
    const [removed, added] = [input[before], input[after]];
    if (typeof removed !== "string" || typeof added !== "string") continue;
    return { lines: [...marked("-", removed), ...marked("+", added)].join("\n"), fields: [before, after] };
  }
  const patch = Object.entries(input).find(
    ([, value]) => typeof value === "string" && /^\*\*\* Begin Patch/.test(value),
  );
  return patch ? { lines: String(patch[1]), fields: [patch[0]] } : null;
}

function marked(mark: string, text: string): string[] {
  return text === "" ? [] : text.split("\n").map((line) => `${mark}${line}`);
}

/** The fields that were changed, by name, and what is wrong with a text. */
export function changedInput(
  input: Input,
  texts: Record<string, string>,
): { changed: Record<string, unknown>; problems: Record<string, string> } {
  const before = editableInput(input);
  const changed: Record<string, unknown> = {};
  const problems: Record<string, string> = {};
  for (const [name, text] of Object.entries(texts)) {
    if (text === before[name]) continue;
    try {
      changed[name] = typeof input[name] === "string" ? text : JSON.parse(text);
    } catch (error) {
      problems[name] = `Invalid JSON: ${(error as Error).message}`;
    }
  }
  return { changed, problems };
}
