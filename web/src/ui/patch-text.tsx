import { classNames } from "@/ui/class-names";

/** The changed lines of a file, as a unified diff; with `isWhole`, also what comes before the first of them. */
export function PatchText({ text, isCut = false, isWhole = false }: PatchTextProps) {
  const hunks = isWhole ? -1 : text.indexOf("\n@@");
  const shown = (hunks === -1 ? text : text.slice(hunks + 1)).replace(/\n$/, ""); // its name is told above it
  return (
    <pre className="whitespace-pre-wrap rounded-md bg-surface p-2 font-mono text-xs leading-5 [overflow-wrap:anywhere]">
      {shown.split("\n").map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a diff never changes
        <span key={at} className={classNames("block min-h-5", lookOf(line))}>
          {line}
        </span>
      ))}
      {isCut && <span className="text-muted">… and more</span>}
    </pre>
  );
}

type PatchTextProps = { text: string; isCut?: boolean; isWhole?: boolean };

function lookOf(line: string): string {
  if (line.startsWith("+++") || line.startsWith("---")) return "text-muted";
  if (line.startsWith("@@")) return "text-accent";
  if (line.startsWith("+")) return "bg-passed-soft text-passed";
  return line.startsWith("-") ? "bg-failed-soft text-failed" : "text-text";
}
