import { useQueryClient } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { useMemo } from "react";
import { Link, useLocation } from "wouter";
import { boardKey, cardKey, useCard, useCardFeed } from "@/api/card-queries";
import { ApiError } from "@/api/client";
import { useRun } from "@/api/run-context";
import type { Board, CardInfo } from "@/api/types";
import { useCommands } from "@/app/commands";
import { FollowedRun, PausedNotice, RunTabs } from "@/app/followed-run";
import { usePageTitle } from "@/app/page-title";
import { canBeFixed } from "@/core/fix-draft";
import { boardLink, runLink } from "@/core/links";
import { CardView } from "@/features/card/card-view";
import { LiveFacts } from "@/features/card/live-facts";
import { Failed, Loading } from "@/ui/feedback";
import { later } from "@/ui/later";
import { toast } from "@/ui/toast";

const CardForm = later(() => import("@/features/board/card-form").then((module) => module.CardForm), null);

export function CardPage({ id }: { id: string }) {
  useCardFeed(id);
  const card = useCard(id);
  usePageTitle(card.data ? `#${card.data.number} ${card.data.title}` : id);
  const isGone = card.error instanceof ApiError && card.error.problem.status === 404;
  if (card.error && (isGone || !card.data))
    return <Unknown id={id} error={card.error} onRetry={() => void card.refetch()} />;
  if (!card.data) return <Loading label="Loading the card" />;
  return <Opened key={id} card={card.data} />;
}

/** A card that cannot be shown, and the way back. */
function Unknown({ id, error, onRetry }: { id: string; error: Error; onRetry: () => void }) {
  return (
    <div className="flex h-full flex-col">
      <header className="flex min-h-10 items-center gap-1 px-3">
        <nav aria-label="Breadcrumb">
          <Link href="/repos" className="text-muted leading-6 hover:text-text">
            Repositories
          </Link>
        </nav>
        <ChevronRight className="size-3.5 shrink-0 text-faint" aria-hidden />
        <h1 className="min-w-0 truncate font-semibold text-lg">{id}</h1>
      </header>
      <div className="min-h-0 flex-1">
        <Failed error={error} onRetry={onRetry} />
      </div>
    </div>
  );
}

function Opened({ card }: { card: CardInfo }) {
  const [, navigate] = useLocation();
  const client = useQueryClient();
  const { id, repo, run } = card;
  useCommands(
    useMemo(
      () => [
        { id: "card-board", title: `Go to the board of ${repo}`, run: () => navigate(boardLink(repo)) },
        {
          id: "card-run",
          title: "Open the run of this card",
          isPossible: run !== null,
          run: () => run !== null && navigate(runLink(run)),
        },
      ],
      [repo, run, navigate],
    ),
  );
  const leave = () => {
    toast(`Deleted card #${card.number}`, "good");
    navigate(boardLink(repo));
    client.removeQueries({ queryKey: cardKey(id) });
  };
  return (
    <CardView
      card={card}
      drawRun={(shown) => <CardRun card={card} run={shown} />}
      drawEditing={(onClose) => <Editing card={card} onClose={onClose} />}
      onOpenRun={(opened) => navigate(runLink(opened))}
      onDeleted={leave}
    />
  );
}

/** The form of the card, with the labels and agents that its board is known to have. */
function Editing({ card, onClose }: { card: CardInfo; onClose: () => void }) {
  const client = useQueryClient();
  const [[, board] = []] = client.getQueriesData<Board>({ queryKey: boardKey(card.repo) });
  const save = (saved: CardInfo) => {
    client.setQueryData([...cardKey(card.id), "detail"], saved);
    void client.invalidateQueries({ queryKey: cardKey(card.id) });
    onClose();
  };
  return <CardForm repo={card.repo} card={card} known={board} onSaved={save} onClose={onClose} />;
}

/** The run of the last attempt. */
function CardRun({ card, run }: { card: CardInfo; run: string }) {
  return (
    <FollowedRun run={run} version={card.version} gone={`The run of attempt ${card.attempt} has been deleted.`}>
      <section
        aria-labelledby="attempt-run"
        className="overflow-hidden rounded-lg border border-line bg-surface [overflow-wrap:anywhere]"
      >
        <RunState card={card} />
        <RunTabs label="Last attempt" isAgent={card.work === "agent"} />
      </section>
    </FollowedRun>
  );
}

function RunState({ card }: { card: CardInfo }) {
  const { detail, status, isLoaded, stops, isViewer } = useRun("detail", "status", "isLoaded", "stops", "isViewer");
  const canFix = !isViewer && canBeFixed(detail) && detail.failures.length > 0;
  const known = isLoaded && status !== "pending" ? status : detail.status;
  return (
    <>
      <LiveFacts card={card} run={detail.id} status={stops.length > 0 ? "paused" : known} canFix={canFix} />
      <PausedNotice />
    </>
  );
}
