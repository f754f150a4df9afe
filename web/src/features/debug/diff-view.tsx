import type { ChangeInfo } from "@/api/types";

export const CHANGE_SIGNS = { added: "+", removed: "−", changed: "~", mode: "±" };
export const CHANGE_COLOURS = {
  added: "text-passed",
  removed: "text-failed",
  changed: "text-paused",
  mode: "text-muted",
};

/** What is different between two moments, one line each. */
export function DiffView({ changes, nothing }: { changes: readonly ChangeInfo[] | undefined; nothing: string }) {
  if (changes?.length === 0) return <p className="text-muted text-sm">{nothing}</p>;
  return (
    <ul className="space-y-0.5 font-mono text-sm">
      {changes?.map((change) => (
        <li key={change.path} className="flex gap-2">
          <span className={CHANGE_COLOURS[change.kind]} title={change.kind}>
            {CHANGE_SIGNS[change.kind]}
          </span>
          <span className="shrink-0">{change.path}</span>
          <span className="min-w-0 truncate text-muted">
            {change.kind !== "added" && <del className="text-failed">{JSON.stringify(change.before)}</del>}
            {change.kind === "changed" && " → "}
            {change.kind !== "removed" && (
              <ins className="text-passed no-underline">{JSON.stringify(change.after)}</ins>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The part of a panel that holds such differences. */
export function Differences({ children }: { children: React.ReactNode }) {
  return (
    <section
      aria-label="Changes"
      className="max-h-56 shrink-0 space-y-2 overflow-auto border-line border-b bg-sunken/50 px-3 py-2"
    >
      {children}
    </section>
  );
}
