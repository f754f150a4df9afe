import { GitMerge } from "lucide-react";
import { useState } from "react";
import type { CardInfo, Conflict } from "@/api/types";
import { shortSha } from "@/core/refs";
import { countWords } from "@/core/words";
import { CONFLICT_WORDS } from "@/features/card/card-words";
import { Button } from "@/ui/button";

type Way = "agent" | "by_hand";

type ConflictPanelProps = {
  card: Pick<CardInfo, "base" | "branch" | "work" | "status">;
  conflict: Conflict;
  canChange: boolean;
  /** Merge the base into the branch; null when that has begun, or why it cannot. */
  onUpdate: (byHand: boolean) => Promise<string | null>;
  onReject: () => void;
};

/** Why the branch cannot be merged, and the three ways out. */
export function ConflictPanel({ card, conflict, canChange, onUpdate, onReject }: ConflictPanelProps) {
  const [busy, setBusy] = useState<Way | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const update = async (way: Way) => {
    setBusy(way);
    setProblem(await onUpdate(way === "by_hand"));
    setBusy(null);
  };
  const { files, base_sha, head_sha } = conflict;
  return (
    <section aria-labelledby="conflict" className="space-y-3 rounded-lg border border-line bg-paused-soft px-4 py-3">
      <div>
        <h2 id="conflict" className="flex items-center gap-2 font-semibold text-paused">
          <GitMerge className="size-4 shrink-0" aria-hidden />
          Cannot merge: {countWords(files.length, "conflicting file")}
        </h2>
        <p className="mt-0.5 text-sm [overflow-wrap:anywhere]">
          <code className="font-mono">{card.branch}</code> at <code className="font-mono">{shortSha(head_sha)}</code>{" "}
          and <code className="font-mono">{card.base}</code> at <code className="font-mono">{shortSha(base_sha)}</code>
        </p>
      </div>
      <ul aria-label="Conflicting files" className="max-h-60 space-y-0.5 overflow-y-auto">
        {files.map(({ path, kind }) => (
          <li key={path} className="flex flex-wrap gap-x-2 text-sm">
            <span className="font-mono [overflow-wrap:anywhere]">{path}</span>
            <span>{CONFLICT_WORDS[kind]}</span>
          </li>
        ))}
      </ul>
      {canChange && card.status !== "in_progress" && (
        <ul className="space-y-2">
          {card.work === "agent" && (
            <WayOut text={`The agent merges ${card.base} into the branch and resolves the conflicts in a new attempt.`}>
              <Button
                look="primary"
                isBusy={busy === "agent"}
                disabled={busy !== null}
                onClick={() => void update("agent")}
              >
                Let the agent resolve it
              </Button>
            </WayOut>
          )}
          <WayOut text="A run pauses in a workspace with the conflict; when you continue it, your resolution is committed.">
            <Button isBusy={busy === "by_hand"} disabled={busy !== null} onClick={() => void update("by_hand")}>
              Resolve by hand
            </Button>
          </WayOut>
          {card.status === "in_review" && (
            <WayOut text="The card moves back to todo with your reason; nothing is merged.">
              <Button look="danger" disabled={busy !== null} onClick={onReject}>
                Reject…
              </Button>
            </WayOut>
          )}
        </ul>
      )}
      {problem && (
        <p role="alert" className="text-failed">
          {problem}
        </p>
      )}
    </section>
  );
}

function WayOut({ text, children }: { text: string; children: React.ReactNode }) {
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <span className="flex w-44 shrink-0 *:w-full">{children}</span>
      <span className="min-w-48 flex-1 text-sm">{text}</span>
    </li>
  );
}
