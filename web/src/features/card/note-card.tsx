import { Check, MessageSquare, RotateCcw, UserPen, Wrench } from "lucide-react";
import { useState } from "react";
import type { NoteInfo } from "@/api/types";
import { shortSha } from "@/core/refs";
import { Ago } from "@/ui/ago";
import { Button } from "@/ui/button";
import { classNames } from "@/ui/class-names";
import { Badge } from "@/ui/status-icon";

/** Resolve a note or open it again; done when the server has answered. */
export type OnResolve = (note: NoteInfo, resolved: boolean) => Promise<void>;

type NoteCardProps = {
  note: NoteInfo;
  now: number;
  /** Where it was made, where that is not to be seen. */
  showsPlace?: boolean;
  /** Null if the user may only look. */
  onResolve: OnResolve | null;
};

/** A note: a comment stands in a box, a review of a line is marked, and what Pitstop says is one line. */
export function NoteCard({ note, now, showsPlace = false, onResolve }: NoteCardProps) {
  switch (note.kind) {
    case "system":
      return <SystemNote note={note} now={now} />;
    case "review":
    case "comment":
      return <WrittenNote note={note} now={now} showsPlace={showsPlace} onResolve={onResolve} />;
  }
}

function SystemNote({ note: { text, at }, now }: { note: NoteInfo; now: number }) {
  return (
    <div className="flex items-start gap-2 px-1 py-0.5 text-muted text-sm">
      <Wrench className="mt-0.5 size-3.5 shrink-0" aria-hidden />
      <p className="min-w-0 flex-1 whitespace-pre-wrap [overflow-wrap:anywhere]">{text}</p>
      <Ago at={at} now={now} className="shrink-0" />
    </div>
  );
}

function WrittenNote({ note, now, showsPlace, onResolve }: NoteCardProps) {
  const { kind, text, who, at, resolved } = note;
  const [isOpen, setOpen] = useState(!resolved);
  const [wasResolved, setWasResolved] = useState(resolved);
  const [isBusy, setBusy] = useState(false);
  if (wasResolved !== resolved) {
    setWasResolved(resolved);
    setOpen(!resolved);
  }
  const isReview = kind === "review";
  const resolve = async () => {
    setBusy(true);
    await onResolve?.(note, !resolved);
    setBusy(false);
  };
  const Icon = isReview ? UserPen : MessageSquare;
  return (
    <article
      aria-label={`${isReview ? "Review" : "Comment"} by ${who}`}
      className={classNames(
        "rounded-md border border-line bg-surface font-sans text-base",
        isReview && "border-l-4 border-l-accent",
        resolved && "bg-sunken",
      )}
    >
      <header className="flex min-h-8 flex-wrap items-center gap-x-2 px-2.5 py-1 text-sm">
        <Icon className={classNames("size-3.5 shrink-0", isReview ? "text-accent" : "text-muted")} aria-hidden />
        <span className="font-medium">{who}</span>
        {resolved && (
          <Badge tone="passed">
            <Check className="size-3" aria-hidden /> resolved
          </Badge>
        )}
        {showsPlace && <Place note={note} />}
        <Ago at={at} now={now} className="text-muted" />
        <span className="flex-1" />
        {resolved && (
          <Button size="sm" look="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? "Hide" : "Show"}
          </Button>
        )}
        {onResolve && (
          <Button
            size="sm"
            look="quiet"
            isBusy={isBusy}
            icon={resolved ? <RotateCcw className="size-3.5" /> : <Check className="size-3.5" />}
            onClick={() => void resolve()}
          >
            {resolved ? "Reopen" : "Resolve"}
          </Button>
        )}
      </header>
      {isOpen && <p className="whitespace-pre-wrap px-2.5 pb-2 [overflow-wrap:anywhere]">{text}</p>}
    </article>
  );
}

/** The line that a note was made on. */
function Place({ note: { file, line, side, sha, is_outdated } }: { note: NoteInfo }) {
  return (
    <>
      {is_outdated && <Badge tone="warning">outdated</Badge>}
      <span className="min-w-0 font-mono text-muted [overflow-wrap:anywhere]">
        {file}:{line}
        {side === "old" && " (old)"}
        {sha && ` at ${shortSha(sha)}`}
      </span>
    </>
  );
}
