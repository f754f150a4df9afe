import { Copy, Ellipsis, GitBranch, Pencil, RotateCcw, Square, SquareKanban, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { TrialInfo } from "@/api/types";
import { lastCall, spentWords } from "@/core/card-live";
import { repoLink, runLink } from "@/core/links";
import { shortSha } from "@/core/refs";
import { formatDuration } from "@/core/time";
import { isTrialOver, secondsOf } from "@/core/trials";
import { tokenWords } from "@/core/words";
import { Button, IconButton } from "@/ui/button";
import { Notice } from "@/ui/feedback";
import { useNow } from "@/ui/hooks";
import { Menu, type MenuItem } from "@/ui/menu";
import { StatusBadge } from "@/ui/status-icon";

/** What can be done with a trial. */
export type TrialAction = "cancel" | "debug" | "save" | "card" | "again" | "edit" | "copy" | "delete";

type TrialCardProps = {
  trial: TrialInfo;
  isPaused: boolean;
  canChange: boolean;
  busy: TrialAction | null;
  /** The run as it goes on; null before it has begun. */
  drawRun: (() => ReactNode) | null;
  onAction: (action: TrialAction) => void;
};

/** A trial: what its agent does or did, and what can be done with the result. */
export function TrialCard({ trial, isPaused, canChange, busy, drawRun, onAction }: TrialCardProps) {
  const { id, profile, settings, state, reason, branch, repo, to_sha } = trial;
  const isOver = isTrialOver(state);
  return (
    <article
      aria-label={`Trial of ${profile}`}
      data-trial={id}
      className="flex min-w-0 flex-col overflow-hidden rounded-lg border border-line bg-surface [overflow-wrap:anywhere]"
    >
      <header className="flex flex-wrap items-center gap-x-2 gap-y-1 px-3 py-2">
        <h2 className="font-semibold">{profile}</h2>
        {settings.model && <code className="font-mono text-muted text-sm">{settings.model}</code>}
        <StatusBadge status={isPaused ? "paused" : state} />
        <Facts trial={trial} />
        <span className="flex-1" />
        {canChange && <Actions trial={trial} busy={busy} onAction={onAction} />}
      </header>
      {reason && state !== "cancelled" && (
        <Notice tone={state === "failed" ? "failed" : "running"}>
          <span className="whitespace-pre-wrap">{reason}</span>
        </Notice>
      )}
      {branch && (
        <p className="flex min-w-0 items-center gap-1 px-3 pb-2 text-sm">
          <GitBranch className="size-3.5 shrink-0 text-muted" aria-hidden />
          Saved to
          <Link
            href={repoLink(repo, { tab: "code", ref: branch })}
            className="min-h-6 truncate font-mono text-accent leading-6 hover:underline"
          >
            {branch}
          </Link>
          {to_sha && <code className="font-mono text-muted">{shortSha(to_sha)}</code>}
        </p>
      )}
      {drawRun ? (
        drawRun()
      ) : (
        <p className="border-line border-t px-3 py-6 text-center text-muted">
          {isOver ? "The agent was not started." : "Waiting for a free slot on the server."}
        </p>
      )}
    </article>
  );
}

/** How long it has taken, what it has cost, and its last tool call. */
function Facts({ trial }: { trial: TrialInfo }) {
  const { state, live, run } = trial;
  const isOver = isTrialOver(state);
  const seconds = secondsOf(trial, useNow(!isOver));
  const facts = [seconds !== null && formatDuration(seconds), spentWords(live), tokenWords(live.tokens)];
  const call = isOver ? null : lastCall(live);
  return (
    <>
      <span className="text-muted text-sm tabular">{facts.filter(Boolean).join(" · ")}</span>
      {call && (
        <code className="max-w-full truncate font-mono text-muted text-sm" title={call}>
          {call}
        </code>
      )}
      {trial.started_at !== null && (
        <Link href={runLink(run)} className="flex min-h-6 items-center text-accent text-sm hover:underline">
          Open the run
        </Link>
      )}
    </>
  );
}

type ActionsProps = { trial: TrialInfo; busy: TrialAction | null; onAction: (action: TrialAction) => void };

function Actions({ trial: { state, to_sha, settings }, busy, onAction }: ActionsProps) {
  if (!isTrialOver(state)) {
    return (
      <div className="flex gap-1">
        {state === "running" && !settings.debug && (
          <Button size="sm" isBusy={busy === "debug"} onClick={() => onAction("debug")}>
            Debug
          </Button>
        )}
        <Button
          size="sm"
          look="danger"
          icon={<Square className="size-3" />}
          isBusy={busy === "cancel" || state === "cancelling"}
          onClick={() => onAction("cancel")}
        >
          Cancel
        </Button>
      </div>
    );
  }
  const items: MenuItem[] = [
    { label: "Try again", icon: <RotateCcw className="size-3.5" />, onSelect: () => onAction("again") },
    { label: "Edit and try again", icon: <Pencil className="size-3.5" />, onSelect: () => onAction("edit") },
    {
      label: "Copy the diff",
      icon: <Copy className="size-3.5" />,
      isDisabled: to_sha === null,
      onSelect: () => onAction("copy"),
    },
    { kind: "separator" },
    {
      label: "Delete…",
      icon: <Trash2 className="size-3.5" />,
      isDanger: true,
      onSelect: () => onAction("delete"),
    },
  ];
  return (
    <div className="flex gap-1">
      {to_sha !== null && (
        <Button
          size="sm"
          icon={<GitBranch className="size-3.5" />}
          isBusy={busy === "save"}
          onClick={() => onAction("save")}
        >
          Save…
        </Button>
      )}
      <Button
        size="sm"
        icon={<SquareKanban className="size-3.5" />}
        isBusy={busy === "card"}
        onClick={() => onAction("card")}
      >
        Make it a card…
      </Button>
      <Menu
        trigger={
          <IconButton label="More actions" size="sm" isBusy={busy === "again" || busy === "copy"}>
            <Ellipsis className="size-4" />
          </IconButton>
        }
        items={items}
      />
    </div>
  );
}
