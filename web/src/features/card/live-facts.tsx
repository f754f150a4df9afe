import { Wrench } from "lucide-react";
import { Link } from "wouter";
import type { CardInfo } from "@/api/types";
import { lastCall, spentWords } from "@/core/card-live";
import { runLink } from "@/core/links";
import { tokenWords } from "@/core/words";
import { LinkButton } from "@/ui/link-button";
import { StatusBadge } from "@/ui/status-icon";

type LiveFactsProps = {
  card: Pick<CardInfo, "attempt" | "live">;
  run: string;
  status: string;
  /** Whether the run can be fixed, which is done on its page. */
  canFix?: boolean;
};

/** What the last attempt is doing: its state, its last tool call, and what it has cost so far. */
export function LiveFacts({ card: { attempt, live }, run, status, canFix = false }: LiveFactsProps) {
  const spent = live ? [spentWords(live), tokenWords(live.tokens)].filter(Boolean).join(" · ") : "";
  const call = live && lastCall(live);
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2">
      <h2 id="attempt-run" className="font-semibold">
        Attempt {attempt}
      </h2>
      <StatusBadge status={status} />
      {call && (
        <code className="min-w-0 truncate font-mono text-sm" title={call}>
          {call}
        </code>
      )}
      {spent && <span className="text-muted text-sm tabular">{spent}</span>}
      <span className="flex-1" />
      {canFix && (
        <LinkButton size="sm" href={runLink(run, { fix: 1 })} icon={<Wrench className="size-3" aria-hidden />}>
          Fix…
        </LinkButton>
      )}
      <Link href={runLink(run)} className="flex min-h-6 items-center text-accent text-sm hover:underline">
        Open the run
      </Link>
    </div>
  );
}
