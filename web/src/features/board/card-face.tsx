import { Bot, Hand, type LucideIcon, SquareTerminal, TriangleAlert, Workflow } from "lucide-react";
import { memo } from "react";
import type { CardSummary } from "@/api/types";
import type { WorkKind } from "@/core/board-view";
import { lastCall, runWords, spentWords } from "@/core/card-live";
import { toneOf } from "@/core/status";
import { classNames } from "@/ui/class-names";
import { Badge, StatusIcon, TONE_TEXT } from "@/ui/status-icon";

const KINDS: Record<WorkKind, { icon: LucideIcon; word: string }> = {
  agent: { icon: Bot, word: "agent" },
  run: { icon: SquareTerminal, word: "script" },
  flow: { icon: Workflow, word: "flow" },
  none: { icon: Hand, word: "by hand" },
};

const MOST_LABELS = 4;

/** What a card shows on the board. */
export const CardFace = memo(function CardFace({ card }: { card: CardSummary }) {
  const { icon: Kind, word } = KINDS[card.work];
  return (
    <span className="flex flex-col gap-1">
      <span className="flex items-center gap-1.5 text-muted text-xs">
        <span className="font-mono tabular">#{card.number}</span>
        {card.attempt > 1 && <span>attempt {card.attempt}</span>}
        <span className="flex-1" />
        {card.has_conflict && (
          <Badge tone="failed">
            <TriangleAlert className="size-3" aria-hidden />
            conflict
          </Badge>
        )}
        <span className="flex min-w-0 items-center gap-1">
          <Kind className="size-3.5 shrink-0" aria-hidden />
          <span className="max-w-28 truncate">{card.profile ?? word}</span>
        </span>
      </span>
      <span dir="auto" className="line-clamp-3 font-medium [overflow-wrap:anywhere]">
        {card.title}
      </span>
      {card.labels.length > 0 && (
        <span className="flex max-h-9.5 flex-wrap gap-1 overflow-hidden">
          {card.labels.slice(0, MOST_LABELS).map((label) => (
            <span key={label} className="max-w-full truncate rounded-sm bg-sunken px-1.5 text-muted text-xs">
              {label}
            </span>
          ))}
          {card.labels.length > MOST_LABELS && (
            <span className="text-muted text-xs">+{card.labels.length - MOST_LABELS}</span>
          )}
        </span>
      )}
      <CardState card={card} />
    </span>
  );
});

/** How the work stands, as far as it matters in the column of the card. */
function CardState({ card }: { card: CardSummary }) {
  switch (card.status) {
    case "todo":
      return card.reason && <Reason text={card.reason} look="text-muted" />;
    case "in_progress":
      return <LiveState card={card} />;
    case "in_review":
      return (
        <>
          {card.branch && <span className="truncate font-mono text-muted text-xs">{card.branch}</span>}
          {card.judges.length > 0 && (
            <span className={classNames("flex items-center gap-1 text-sm", TONE_TEXT.running)}>
              <StatusIcon status="running" className="size-3.5" />
              {card.judges.length === 1 ? "1 flow is running" : `${card.judges.length} flows are running`}
            </span>
          )}
          {card.reason && <Reason text={card.reason} look="text-muted" />}
        </>
      );
    case "done":
      if (card.reason) return <Reason text={card.reason} look="text-muted" />;
      return (
        card.head_sha !== null && (
          <span className="text-muted text-sm">{card.landed_at === null ? "merged" : "landed"}</span>
        )
      );
    case "failed":
      return card.reason && <Reason text={card.reason} look="text-failed" />;
  }
}

/** A reason in two lines at most. */
function Reason({ text, look }: { text: string; look: string }) {
  return <span className={classNames("line-clamp-2 text-sm [overflow-wrap:anywhere]", look)}>{text}</span>;
}

function LiveState({ card: { run_status, live } }: { card: CardSummary }) {
  if (run_status === null) return null;
  const call = live && lastCall(live);
  const spent = live ? spentWords(live) : "";
  return (
    <>
      <span className="flex items-center gap-1 text-sm">
        <StatusIcon status={run_status} className="size-3.5" />
        <span className={TONE_TEXT[toneOf(run_status)]}>{runWords(run_status)}</span>
        {spent && <span className="min-w-0 truncate text-muted tabular">· {spent}</span>}
      </span>
      {call && (
        <span title={call} className="truncate font-mono text-muted text-xs">
          {call}
        </span>
      )}
    </>
  );
}

const CHARACTERS_IN_LINE = 34;

/** About how high a card is, until it has been drawn. */
export function estimateHeight(card: CardSummary | undefined): number {
  if (!card) return 0;
  const lines = Math.min(3, Math.ceil(card.title.length / CHARACTERS_IN_LINE));
  const isRunning = card.status === "in_progress" && card.run_status !== null;
  const hasState = isRunning || card.reason !== null || card.status === "in_review" || card.status === "done";
  return 34 + 20 * lines + (card.labels.length > 0 ? 20 : 0) + (isRunning ? 42 : hasState ? 22 : 0);
}
