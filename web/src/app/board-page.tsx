import { useQueryClient } from "@tanstack/react-query";
import { ChevronRight, Plus } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import type { BoardFilter } from "@/api/card-client";
import { refreshBoards, useBoard, useBoardFeed, useCard } from "@/api/card-queries";
import { useCanChange } from "@/api/queries";
import type { ApprovalForm, CardSummary, RejectionForm } from "@/api/types";
import { useCommands } from "@/app/commands";
import { usePageTitle } from "@/app/page-title";
import { dropMeaning, findCard, placeOf } from "@/core/board-view";
import { cardLink, repoLink } from "@/core/links";
import { BoardFilters } from "@/features/board/board-filters";
import { focusedCard } from "@/features/board/board-parts";
import { CardBoard, type OnDrop } from "@/features/board/card-board";
import { CardForm } from "@/features/board/card-form";
import { ColumnChooser } from "@/features/board/column-chooser";
import { NoCards } from "@/features/board/no-cards";
import { useBoardMoves } from "@/features/board/use-board-moves";
import { ApproveDialog } from "@/features/card/approve-dialog";
import { RejectDialog } from "@/features/card/reject-dialog";
import { Button } from "@/ui/button";
import { Confirm } from "@/ui/dialog";
import { Empty, Failed, Loading, Notice } from "@/ui/feedback";
import { useDebounced } from "@/ui/hooks";
import { toast } from "@/ui/toast";

/** What is asked before a card is changed. */
type Asked = { kind: "approve" | "reject" | "cancel"; card: CardSummary };

export function BoardPage({ id }: { id: string }) {
  usePageTitle(`Board of ${id}`);
  const [, navigate] = useLocation();
  const client = useQueryClient();
  const canChange = useCanChange();
  const { filter, shown, change } = useFilter();
  const connection = useBoardFeed(id);
  const board = useBoard(id, filter, connection);
  const moves = useBoardMoves(id, filter);
  const [isCreating, setCreating] = useState(false);
  const [asked, setAsked] = useState<Asked | null>(null);
  const data = board.data;
  const latest = useRef(data);
  latest.current = data;
  const drop: OnDrop = (card, meaning, place) => {
    switch (meaning.kind) {
      case "move": {
        const now = latest.current && placeOf(latest.current, card.id);
        if (now?.status !== place.status || now.after !== place.after) void moves.move(card, place);
        return;
      }
      case "start":
        return void moves.start(card);
      case "refused":
        return toast(meaning.reason, "bad");
      default:
        setAsked({ kind: meaning.kind, card });
    }
  };
  useCommands(
    useMemo(() => {
      const startFocused = () => {
        const card = latest.current && findCard(latest.current, focusedCard() ?? "");
        if (!card) return toast("Focus a card to start it.");
        if (card.status === "in_progress") return toast("The card is in progress.");
        const meaning = dropMeaning(card, "in_progress");
        if (meaning.kind === "refused") toast(meaning.reason, "bad");
        else if (meaning.kind === "start") void moves.start(card);
        else void moves.move(card, { status: "in_progress", after: null });
      };
      return [
        {
          id: "new-card",
          title: "New card",
          shortcut: "new-card",
          isPossible: canChange,
          run: () => setCreating(true),
        },
        {
          id: "start-card",
          title: "Start the focused card",
          shortcut: "start-card",
          isPossible: canChange,
          run: startFocused,
        },
      ] as const;
    }, [canChange, moves]),
  );
  if (board.error && !data) return <Failed error={board.error} onRetry={() => board.refetch()} />;
  if (!data) return <Loading label="Loading the board" />;
  const isFiltered = Object.values(filter).some(Boolean);
  const isEmpty = data.columns.every(({ count }) => count === 0);
  return (
    <div className="flex h-full flex-col">
      <header className="flex min-h-11 shrink-0 flex-wrap items-center justify-between gap-x-3 gap-y-2 px-3 py-2">
        <nav aria-label="Breadcrumb" className="flex min-w-0 items-center gap-1">
          <Link href={repoLink(id)} className="min-w-6 truncate text-muted leading-6 hover:text-text">
            {id}
          </Link>
          <ChevronRight className="size-3.5 shrink-0 text-faint" aria-hidden />
          <h1 className="font-semibold text-lg">Board</h1>
        </nav>
        {(!isEmpty || isFiltered) && (
          <BoardFilters filter={shown} labels={data.labels} profiles={data.profiles} onChange={change} />
        )}
        {canChange && (!isEmpty || isFiltered) && (
          <Button look="primary" icon={<Plus className="size-3.5" />} onClick={() => setCreating(true)}>
            New card
          </Button>
        )}
      </header>
      {board.error && <Notice tone="paused">{board.error.message} The board may be out of date. Reconnecting…</Notice>}
      <div className="min-h-0 flex-1" aria-busy={board.isPlaceholderData}>
        {!isEmpty ? (
          <div className="flex h-full flex-col">
            <ColumnChooser board={data} />
            <div className="min-h-0 flex-1">
              <CardBoard repo={id} filter={filter} board={data} canChange={canChange} onDrop={drop} />
            </div>
          </div>
        ) : isFiltered ? (
          <Empty
            title="No matching cards"
            action={<Button onClick={() => change({ label: "", profile: "", search: "" })}>Show all cards</Button>}
          />
        ) : (
          <NoCards canChange={canChange} onCreate={() => setCreating(true)} />
        )}
      </div>
      {isCreating && (
        <CardForm
          repo={id}
          known={data}
          onClose={() => setCreating(false)}
          onSaved={(card) => {
            setCreating(false);
            toast(
              card.status === "in_progress" ? `Started card #${card.number}` : `Created card #${card.number}`,
              "good",
              {
                label: "Open card",
                onSelect: () => navigate(cardLink(card.id)),
              },
            );
            void refreshBoards(client, id);
          }}
        />
      )}
      {asked && (
        <AskedDialog
          asked={{ ...asked, card: findCard(data, asked.card.id) ?? asked.card }}
          onClose={() => setAsked(null)}
          onApprove={(form) => moves.approve(asked.card, form)}
          onReject={(form) => moves.reject(asked.card, form)}
          onCancel={() => void moves.cancel(asked.card)}
        />
      )}
    </div>
  );
}

type AskedDialogProps = {
  asked: Asked;
  onClose: () => void;
  onApprove: (form: ApprovalForm) => Promise<string | null>;
  onReject: (form: RejectionForm) => Promise<string | null>;
  onCancel: () => void;
};

function AskedDialog({ asked: { kind, card }, onClose, onApprove, onReject, onCancel }: AskedDialogProps) {
  switch (kind) {
    case "approve":
      return <Approve card={card} onApprove={onApprove} onClose={onClose} />;
    case "reject":
      return <RejectDialog branch={card.branch} onReject={onReject} onClose={onClose} />;
    case "cancel":
      return (
        <Confirm
          title={`Cancel the run of card #${card.number}?`}
          text="The card moves back to todo when its run has ended."
          action="Cancel run"
          dismiss="Keep running"
          isOpen
          onClose={onClose}
          onConfirm={onCancel}
        />
      );
  }
}

type ApproveProps = Pick<AskedDialogProps, "onApprove" | "onClose"> & { card: CardSummary };

/** For the commit that the board shows. */
function Approve({ card, onApprove, onClose }: ApproveProps) {
  const unresolved_notes = useCard(card.id).data?.unresolved_notes ?? 0;
  return <ApproveDialog card={{ ...card, unresolved_notes }} onApprove={onApprove} onClose={onClose} />;
}

const IN_ADDRESS = { label: "label", profile: "agent", search: "search" } as const;

/** Which cards are shown, as the address has it; the text is written there when the user stops typing. */
function useFilter() {
  const [params, setParams] = useSearchParams();
  const [label, profile, search] = [params.get("label") ?? "", params.get("agent") ?? "", params.get("search") ?? ""];
  const [text, setText] = useState(search);
  const settled = useDebounced(text, 250);
  const written = useRef(search);
  const write = (changes: BoardFilter) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        for (const [name, value] of Object.entries(changes)) {
          const key = IN_ADDRESS[name as keyof BoardFilter];
          if (value) next.set(key, value);
          else next.delete(key);
        }
        return next;
      },
      { replace: true },
    );
  const writing = useRef(write);
  writing.current = write;
  useEffect(() => {
    if (settled === written.current) return;
    written.current = settled;
    writing.current({ search: settled });
  }, [settled]);
  useEffect(() => {
    if (search === written.current) return;
    written.current = search; // another link has led here
    setText(search);
  }, [search]);
  const change = ({ search: typed, ...others }: BoardFilter) => {
    if (typed !== undefined) setText(typed);
    if (Object.keys(others).length > 0) write(others);
  };
  const filter = useMemo(() => ({ label, profile, search }), [label, profile, search]);
  return { filter, shown: { label, profile, search: text }, change };
}
