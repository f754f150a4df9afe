import { ChevronRight, Copy, GitBranch } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { CardInfo } from "@/api/types";
import { boardLink, repoLink } from "@/core/links";
import { shortSha } from "@/core/refs";
import { CardStatusBadge } from "@/features/card/card-status";
import { Ago } from "@/ui/ago";
import { IconButton } from "@/ui/button";
import { copyText } from "@/ui/copy";
import { useNow } from "@/ui/hooks";
import { Badge } from "@/ui/status-icon";

type CardHeaderProps = { card: CardInfo; isPaused: boolean; actions: ReactNode };

/** Which card it is, where it is, and what can be done with it. */
export function CardHeader({ card, isPaused, actions }: CardHeaderProps) {
  const { repo, number, title, status, labels, by, created_at, updated_at } = card;
  const now = useNow(true, 30_000);
  return (
    <header className="space-y-1.5 border-line border-b bg-surface px-3 py-2">
      <nav aria-label="Breadcrumb" className="flex min-h-6 min-w-0 items-center gap-1 text-sm">
        <Link href={repoLink(repo)} className="min-h-6 min-w-6 truncate text-muted leading-6 hover:text-text">
          {repo}
        </Link>
        <ChevronRight className="size-3.5 shrink-0 text-faint" aria-hidden />
        <Link href={boardLink(repo)} className="min-h-6 text-muted leading-6 hover:text-text">
          Board
        </Link>
        <ChevronRight className="size-3.5 shrink-0 text-faint" aria-hidden />
        <span className="tabular">#{number}</span>
      </nav>
      <div className="flex flex-wrap items-start gap-x-3 gap-y-1.5">
        <h1 className="min-w-0 font-semibold text-xl [overflow-wrap:anywhere]">{title}</h1>
        <CardStatusBadge status={status} isPaused={isPaused} />
        <span className="flex-1" />
        {actions}
      </div>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-muted text-sm">
        {labels.length > 0 && (
          <ul aria-label="Labels" className="flex flex-wrap gap-1">
            {labels.map((label) => (
              <li key={label}>
                <Badge>{label}</Badge>
              </li>
            ))}
          </ul>
        )}
        <Branch card={card} />
        <span>
          Created by {by} <Ago at={created_at} now={now} />
        </span>
        <span className="max-sm:hidden">
          Updated <Ago at={updated_at} now={now} />
        </span>
      </div>
    </header>
  );
}

/** The branch, to be copied, and what it is merged into. */
function Branch({ card: { branch, base, head_sha } }: { card: CardInfo }) {
  return (
    <span className="flex min-w-0 items-center gap-1">
      <GitBranch className="size-3.5 shrink-0" aria-hidden />
      {branch === null ? (
        <span>No branch yet</span>
      ) : (
        <>
          <code className="min-w-0 font-mono text-text [overflow-wrap:anywhere]">{branch}</code>
          <IconButton label="Copy the branch name" size="sm" onClick={() => copyText(branch, "the branch name")}>
            <Copy className="size-3.5" />
          </IconButton>
          {head_sha && <code className="font-mono">{shortSha(head_sha)}</code>}
        </>
      )}
      <span>→</span>
      <code className="font-mono text-text">{base}</code>
    </span>
  );
}
