import { ChevronDown, ChevronRight } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { useAttempt } from "@/api/card-queries";
import type { AttemptInfo } from "@/api/types";
import { spentWords } from "@/core/card-live";
import { runLink } from "@/core/links";
import { wordOf } from "@/core/status";
import { formatDuration } from "@/core/time";
import { tokenWords } from "@/core/words";
import { ATTEMPT_WORDS } from "@/features/card/card-words";
import type { ShownRange } from "@/features/card/diff-range";
import { Ago } from "@/ui/ago";
import { Failed, Loading } from "@/ui/feedback";
import { useNow } from "@/ui/hooks";
import { Choice } from "@/ui/panel";
import { StatusIcon } from "@/ui/status-icon";

type AttemptsProps = {
  attempts: readonly AttemptInfo[];
  range: ShownRange;
  onRange: (range: ShownRange) => void;
};

/** The attempts at the work, the newest first; each opens to what its agent was told and what its run executed. */
export function Attempts({ attempts, range, onRange }: AttemptsProps) {
  const now = useNow(true, attempts.some(({ outcome }) => outcome === "running") ? 1000 : 30_000);
  if (attempts.length === 0) return null;
  return (
    <section aria-labelledby="attempts" className="space-y-2">
      <h2 id="attempts" className="font-semibold">
        Attempts
      </h2>
      <ul aria-labelledby="attempts" className="divide-y divide-line rounded-lg border border-line bg-surface">
        {attempts.map((attempt) => (
          <li key={attempt.number}>
            <Attempt
              attempt={attempt}
              now={now}
              isShown={range.kind === "attempt" && range.attempt === attempt.number}
              onShow={(isShown) => onRange(isShown ? { kind: "attempt", attempt: attempt.number } : { kind: "all" })}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}

type AttemptProps = {
  attempt: AttemptInfo;
  now: number;
  /** Whether its changes are those that are shown. */
  isShown: boolean;
  onShow: (isShown: boolean) => void;
};

function Attempt({ attempt, now, isShown, onShow }: AttemptProps) {
  const [isOpen, setOpen] = useState(false);
  const { number, kind, profile, outcome, reason, live, run, by, started_at, ended_at, to_sha } = attempt;
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  const facts = [
    ATTEMPT_WORDS[kind],
    profile,
    `by ${by}`,
    spentWords(live),
    tokenWords(live.tokens),
    formatDuration((ended_at ?? now) - started_at),
    to_sha === null && outcome === "passed" && "no changes",
  ];
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1 px-2 py-1.5">
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          className="flex min-h-7 min-w-0 flex-1 basis-64 items-center gap-2 rounded-md px-1 text-left hover:bg-hover"
        >
          <Chevron className="size-3.5 shrink-0 text-muted" aria-hidden />
          <StatusIcon status={outcome} className="size-3.5" />
          <span className="shrink-0 font-medium tabular">
            Attempt {number} <span className="sr-only">{wordOf(outcome)}</span>
          </span>
          <span className="min-w-0 text-muted text-sm tabular">{facts.filter(Boolean).join(" · ")}</span>
        </button>
        <Ago at={started_at} now={now} className="text-muted text-sm" />
        <Link
          href={runLink(run)}
          aria-label={`Run of attempt ${number}`}
          className="flex min-h-6 items-center text-accent text-sm hover:underline"
        >
          Run
        </Link>
        {to_sha !== null && (
          <Choice isChosen={isShown} title={`Show the changes of attempt ${number}`} onChoose={() => onShow(!isShown)}>
            <span className="sr-only">Show the </span>changes<span className="sr-only"> of attempt {number}</span>
          </Choice>
        )}
      </div>
      {reason && (
        <p className="whitespace-pre-wrap px-3 pb-2 pl-9 text-sm [overflow-wrap:anywhere]">
          <span className={outcome === "failed" ? "text-failed" : "text-muted"}>{reason}</span>
        </p>
      )}
      {isOpen && <Detail attempt={attempt} />}
    </>
  );
}

function Detail({ attempt: { card, number } }: { attempt: AttemptInfo }) {
  const detail = useAttempt(card, number);
  if (detail.error && !detail.data) return <Failed error={detail.error} onRetry={() => detail.refetch()} />;
  if (!detail.data) return <Loading label="Loading the attempt" />;
  const { prompt, text } = detail.data;
  return (
    <div className="space-y-3 border-line border-t bg-sunken/50 px-3 py-3">
      {prompt !== "" && <LongText title="Prompt" of={number} text={prompt} />}
      <LongText title="Flow" of={number} text={text} />
    </div>
  );
}

function LongText({ title, of, text }: { title: string; of: number; text: string }) {
  return (
    <section>
      <h3 className="mb-1 font-semibold text-muted text-sm">{title}</h3>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with keys
        tabIndex={0}
        role="group"
        aria-label={`${title} of attempt ${of}`}
        className="max-h-96 overflow-y-auto whitespace-pre-wrap rounded-md border border-line bg-surface p-2 font-mono text-sm [overflow-wrap:anywhere]"
      >
        {text}
      </pre>
    </section>
  );
}
