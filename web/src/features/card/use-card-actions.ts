import { useState } from "react";
import { cardApi } from "@/api/card-client";
import { api } from "@/api/client";
import type { CardInfo, StartCardForm } from "@/api/types";
import type { CardAction } from "@/features/card/card-actions";
import type { Asking } from "@/features/card/card-dialogs";
import type { Change } from "@/features/card/use-card-change";
import { toast } from "@/ui/toast";

type CardActionsProps = { card: CardInfo; change: Change; onOpenRun: (run: string) => void };

/** What the buttons of a card do: some ask first, others act at once and say in passing how that went. */
export function useCardActions({ card, change, onOpenRun }: CardActionsProps) {
  const [asking, setAsking] = useState<Asking | null>(null);
  const [busy, setBusy] = useState<CardAction["kind"] | null>(null);
  const { id, version, run, base, head_sha } = card;

  const linkTo = (opened: string | null) =>
    opened === null ? undefined : { label: "Open the run", onSelect: () => onOpenRun(opened) };
  const start = (form: StartCardForm) =>
    change(async () => {
      const started = await cardApi.start(id, form, version, crypto.randomUUID());
      toast(`Started attempt ${started.attempt}`, "good", linkTo(started.run));
      return started;
    });

  /** Merge the base into the branch; null when that has begun, or why it cannot. */
  const update = (byHand: boolean) =>
    change(async () => {
      const updated = await cardApi.updateBranch(id, { by_hand: byHand }, crypto.randomUUID());
      if (updated.is_clean)
        toast(
          updated.card.head_sha === head_sha ? "The branch is up to date" : `Merged ${base} into the branch`,
          "good",
        );
      else if (byHand) toast("A run pauses with the conflict.", "info", linkTo(updated.card.run));
      else toast("The agent resolves the conflicts.", "info", linkTo(updated.card.run));
      return updated.card;
    });

  const debug = async (): Promise<string | null> => {
    if (card.status !== "in_progress") return start({ debug: true });
    if (run === null) return "The run has not started yet.";
    if (card.run_status === "paused") {
      onOpenRun(run);
      return null;
    }
    return change(async () => {
      const isAgent = card.work === "agent";
      if (isAgent) await api.addBreakpoint(run, { tool: "any", once: true });
      else await api.command(run, "pause", {});
      toast(`The run pauses at its next ${isAgent ? "tool call" : "step"}.`, "good", linkTo(run));
    });
  };

  const act = async (kind: CardAction["kind"], doIt: () => Promise<string | null>) => {
    setBusy(kind);
    const problem = await doIt();
    setBusy(null);
    if (problem !== null) toast(problem, "bad");
  };

  const begin = (action: CardAction) => {
    switch (action.kind) {
      case "start":
        return void act("start", () => start({}));
      case "debug":
        return void act("debug", debug);
      case "update":
        return void act("update", () => update(false));
      case "move":
        return void act("move", () => change(() => cardApi.move(id, { status: action.to }, version)));
      case "retry":
      case "cancel":
      case "approve":
      case "reject":
      case "edit":
      case "delete":
        return setAsking(action.kind);
    }
  };
  return { asking, busy, begin, update, ask: setAsking, close: () => setAsking(null) };
}
