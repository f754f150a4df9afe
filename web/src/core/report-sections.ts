/** A report in Markdown, in parts: its front matter, and its text under the headings. */

export type ReportSection = { title: string; depth: number; text: string };
export type ReportParts = { facts: [name: string, value: string][]; sections: ReportSection[] };

export function reportParts(markdown: string): ReportParts {
  const [, head, body = markdown] = /^---\r?\n([\s\S]*?)\r?\n---\r?\n([\s\S]*)$/.exec(markdown) ?? [];
  const facts = (head ?? "").split(/\r?\n/).flatMap((line): [string, string][] => {
    const [, name, value] = /^([\w-]+):\s*(.*)$/.exec(line) ?? [];
    return name ? [[name, value ?? ""]] : [];
  });
  const sections: ReportSection[] = [{ title: "", depth: 0, text: "" }];
  let fence: string | null = null; // what looks like a heading in code is none
  for (const line of body.split(/\r?\n/)) {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1] ?? null;
    if (mark !== null) fence = fence === null ? mark : mark.startsWith(fence) ? null : fence;
    const heading = fence === null ? /^(#{1,6})\s+(.+?)\s*#*$/.exec(line) : null;
    const last = sections.at(-1);
    if (heading) sections.push({ title: heading[2] ?? "", depth: heading[1]?.length ?? 1, text: "" });
    else if (last) last.text += `${line}\n`;
  }
  const told = sections.map((each) => ({ ...each, text: each.text.replace(/^\s*\n/, "").trimEnd() }));
  return { facts, sections: told.filter(({ title, text }) => title !== "" || text !== "") };
}
