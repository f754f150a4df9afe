import { memo } from "react";
import { parseAnsi, type Span, stripAnsi } from "@/core/ansi";
import type { BufferedLine } from "@/core/log-buffer";
import { formatClock } from "@/core/time";
import { classNames } from "@/ui/class-names";

type LogRowProps = { line: BufferedLine; wraps: boolean; showsTime: boolean; search: string; isCurrent: boolean };

export const LogRow = memo(function LogRow({ line, wraps, showsTime, search, isCurrent }: LogRowProps) {
  return (
    <div className={classNames("flex min-h-5", isCurrent ? "bg-paused-soft" : "hover:bg-hover/60")}>
      <span className="sticky left-0 w-14 shrink-0 select-none bg-log pr-3 text-right text-faint tabular">
        {line.number}
      </span>
      {showsTime && <span className="w-20 shrink-0 select-none text-faint">{formatClock(line.time)}</span>}
      <span
        className={classNames(
          "pr-4",
          wraps ? "min-w-0 flex-1 whitespace-pre-wrap break-all" : "whitespace-pre",
          line.stream === "stderr" && "border-failed/60 border-l-2 pl-1.5 -ml-2",
        )}
      >
        {search ? <Marked text={stripAnsi(line.text)} search={search} /> : <Spans spans={parseAnsi(line.text)} />}
      </span>
    </div>
  );
});

function Spans({ spans }: { spans: Span[] }) {
  return spans.map(({ text, style }, at) =>
    style === null ? (
      text
    ) : (
      <span
        // biome-ignore lint/suspicious/noArrayIndexKey: a line never changes
        key={at}
        style={{
          color: style.color,
          background: style.background,
          fontWeight: style.bold ? 600 : undefined,
          opacity: style.dim ? 0.75 : undefined,
          fontStyle: style.italic ? "italic" : undefined,
          textDecoration: style.underline ? "underline" : style.strike ? "line-through" : undefined,
        }}
      >
        {text}
      </span>
    ),
  );
}

function Marked({ text, search }: { text: string; search: string }) {
  const parts: React.ReactNode[] = [];
  const lower = text.toLowerCase();
  const wanted = search.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(wanted); at !== -1; at = lower.indexOf(wanted, from)) {
    parts.push(
      text.slice(from, at),
      <mark key={at} className="rounded-xs bg-paused-fill/50 text-inherit">
        {text.slice(at, at + wanted.length)}
      </mark>,
    );
    from = at + wanted.length;
  }
  return [...parts, text.slice(from)];
}
