import { classNames } from "@/ui/class-names";

const LOOKS: Record<string, string> = {
  string: "text-(--ansi-green)",
  number: "text-(--ansi-blue)",
  boolean: "text-(--ansi-magenta)",
  null: "text-faint",
};

/** A value in one line, coloured by what it is. */
export function InlineValue({ type, text }: { type: string; text: string }) {
  return <span className={classNames("font-mono text-sm", LOOKS[type] ?? "text-muted")}>{text}</span>;
}

/** A value in full. */
export function JsonText({ value, className }: { value: unknown; className?: string }) {
  return (
    <pre className={classNames("overflow-auto whitespace-pre-wrap break-words font-mono text-sm", className)}>
      {typeof value === "string" ? value : JSON.stringify(value, null, 2)}
    </pre>
  );
}

/** A text or a value as code, in a box of its own. */
export function CodeText({ value }: { value: unknown }) {
  return <JsonText value={value} className="rounded-md bg-sunken px-2 py-1.5" />;
}

export function typeOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}
