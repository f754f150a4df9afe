import type { ChangeInfo } from "@/api/types";

const SIGNS = { added: "+", removed: "−", changed: "~" };
const COLOURS = { added: "text-passed", removed: "text-failed", changed: "text-paused" };

/** What is different between two moments, one line each. */
export function DiffView({ changes }: { changes: readonly ChangeInfo[] | undefined }) {
  return (
    <section
      aria-label="Changes"
      className="max-h-48 shrink-0 overflow-auto border-line border-b bg-sunken/50 px-3 py-2"
    >
      {changes?.length === 0 && <p className="text-muted">Nothing changed since the last stop of this frame.</p>}
      <ul className="space-y-0.5 font-mono text-sm">
        {changes?.map((change) => (
          <li key={change.path} className="flex gap-2">
            <span className={COLOURS[change.kind]} title={change.kind}>
              {SIGNS[change.kind]}
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
    </section>
  );
}
