import { Wrench } from "lucide-react";
import { Fragment, type ReactNode, useMemo } from "react";
import { useArtifacts } from "@/api/queries";
import { stepOf, useRun } from "@/api/run-context";
import type { StopInfo } from "@/api/types";
import { formatCost } from "@/core/agent-view";
import { durationsOf } from "@/core/durations";
import { type FixTurn, type FixView, foldFix, lastOf } from "@/core/fix-view";
import type { StepView } from "@/core/run-view";
import { hasGivenUp } from "@/core/status";
import { formatDuration } from "@/core/time";
import { countWords } from "@/core/words";
import { Decisions } from "@/features/fix/decisions";
import { choiceWords, reasonWords, STATES, treeWords, triageWords } from "@/features/fix/fix-words";
import { Iteration } from "@/features/fix/iteration";
import { StoredText } from "@/features/fix/report";
import { TestTable } from "@/features/fix/test-table";
import { Empty } from "@/ui/feedback";
import { useNow } from "@/ui/hooks";
import { Choice, PanelBar, Section } from "@/ui/panel";
import { Badge, StatusBadge, StatusIcon } from "@/ui/status-icon";
import { TickedText } from "@/ui/ticked-text";

/** A fix loop: its state, the tests by iteration, each iteration, and how to continue where it gave up. */
export function FixPanel() {
  const { view, detail, stops, selected, select } = useRun("view", "version", "detail", "stops", "selected", "select");
  const loops = [...view.fixes].filter(([, events]) => events.length > 0).map(([occurrence]) => occurrence);
  const escalated = stops.filter((each) => hasGivenUp(each.reasons));
  const shown =
    loops.find((each) => selected === each || selected?.startsWith(`${each}[`)) ??
    loops.find((each) => escalated.some(({ occurrence }) => occurrence === each)) ??
    loops.at(-1);
  if (shown === undefined) {
    return (
      <Empty icon={<Wrench className="size-6" />} title="Nothing to fix yet">
        When the tests of this step fail, each attempt to fix them appears here.
      </Empty>
    );
  }
  return (
    <div className="flex h-full flex-col">
      {loops.length > 1 && (
        <PanelBar wraps>
          {loops.map((each) => (
            <Choice key={each} isChosen={each === shown} onChoose={() => select(each)}>
              <StatusIcon status={view.steps.get(each)?.status ?? "waiting"} className="size-3.5" />
              {each.includes("#") ? each : (stepOf(detail, each)?.title ?? each)}
            </Choice>
          ))}
        </PanelBar>
      )}
      <Loop key={shown} occurrence={shown} stop={escalated.find((each) => each.occurrence === shown) ?? null} />
    </div>
  );
}

function Loop({ occurrence, stop }: { occurrence: string; stop: StopInfo | null }) {
  const { run, view, isViewer } = useRun("run", "view", "version", "isViewer");
  const events = view.fixes.get(occurrence);
  const fix = useMemo(() => foldFix(events ?? []), [events]);
  const version = events?.length ?? 0; // files are stored before they are noted
  const patch = useArtifacts(run.id, version).data?.find(
    ({ path }) => path === `${view.steps.get(occurrence)?.step}.patch`,
  );
  const escalation = fix.turns.findLast((turn) => turn.kind === "escalated");
  return (
    <div
      role="group"
      aria-label={`Fix loop of ${occurrence}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with keys
      tabIndex={0}
      className="min-h-0 flex-1 space-y-4 overflow-y-auto p-3 focus-visible:-outline-offset-2"
    >
      <Header fix={fix} occurrence={occurrence} />
      {stop && (
        <section aria-label="Escalation" className="space-y-2 rounded-md bg-paused-soft p-3">
          <h3 className="font-semibold text-paused">
            {escalation ? reasonWords(escalation.reason) : "The fix loop gave up"}
          </h3>
          {escalation && <Why turn={escalation} />}
          {!isViewer && <Decisions stop={stop} fix={fix} />}
        </section>
      )}
      {fix.tested.some((each) => each.total > 0) && (
        <Section title="Tests">
          <TestTable fix={fix} />
        </Section>
      )}
      <ol aria-label="Timeline" className="space-y-4">
        <Item>
          <h3 className="font-semibold">Start</h3>
          <Triage fix={fix} />
          <StepLinks occurrence={occurrence} n={0} />
        </Item>
        <Turns fix={fix} after={0} />
        {fix.iterations.map((each) => (
          <Fragment key={each.n}>
            <Item>
              <Iteration
                iteration={each}
                fix={fix}
                version={version}
                links={<StepLinks occurrence={occurrence} n={each.n} />}
              />
            </Item>
            <Turns fix={fix} after={each.n} />
          </Fragment>
        ))}
      </ol>
      {patch && <StoredText path={patch.path} version={version} title="The whole change" isPatch />}
    </div>
  );
}

function Header({ fix, occurrence }: { fix: FixView; occurrence: string }) {
  const { view, isLive } = useRun("view", "version", "isLive");
  const step = view.steps.get(occurrence);
  const now = useNow(isLive && step?.ended_at === null);
  const { limits, ended, tested, round } = fix;
  const n = lastOf(fix);
  const [word, tone] = STATES[fix.state] ?? [fix.state, "neutral"];
  const cost = ended?.cost ?? costOf(view.steps.values(), occurrence);
  const most = limits.iterations * round; // each round has its own
  const facts = [
    n > 0 && (most > 0 ? `iteration ${n} of ${most}` : `iteration ${n}`),
    (round > 1 || n > 0) && (limits.rounds > 0 ? `round ${round} of ${limits.rounds}` : `round ${round}`),
    tested.length > 0 && `${countWords(tested[0]?.total ?? 0, "failure")} at first`,
    tested.length > 1 && `${tested.at(-1)?.total} now`,
    cost !== null &&
      (limits.cost !== null ? `${formatCost(cost)} of ${formatCost(limits.cost)}` : cost > 0 && formatCost(cost)),
    step && formatDuration(durationsOf(step.clock, now).ran),
  ];
  return (
    <header className="space-y-1">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-0.5">
        <h2 className="font-semibold text-lg [overflow-wrap:anywhere]">{fix.topic || occurrence}</h2>
        {step?.ended_at && !ended ? <StatusBadge status={step.status} /> : <Badge tone={tone}>{word}</Badge>}
      </div>
      <p className="text-muted tabular">{facts.filter(Boolean).join(" · ")}</p>
      <p className="[overflow-wrap:anywhere]">
        <code className="font-mono text-sm">{fix.command}</code>
        <span className="text-muted text-sm">
          {fix.in_place ? " in your folder" : fix.branch && ` on ${fix.branch}`}
          {fix.reader && ` · failures read by ${fix.reader}`}
        </span>
      </p>
      {ended && <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{ended.why}</p>}
    </header>
  );
}

/** What the agents of the loop have cost so far, in US dollars; null if none has said. */
function costOf(steps: Iterable<StepView>, occurrence: string): number | null {
  const outputs = [...steps].map((step) => step.occurrence.startsWith(`${occurrence}[`) && step.outcome?.outputs);
  const costs = outputs.flatMap((each) => (each as { cost?: number } | null)?.cost ?? []);
  return costs.length === 0 ? null : costs.reduce((sum, each) => sum + each, 0);
}

function Triage({ fix: { triage, state } }: { fix: FixView }) {
  if (!triage) return <p className="text-muted">{state === "passed" ? "The tests passed." : "Not triaged yet."}</p>;
  const { verdict, evidence, flaky, pre_existing } = triage;
  const counts = [
    flaky.length > 0 && `${countWords(flaky.length, "flaky failure")}, left out of the verdicts.`,
    pre_existing.length > 0 && `${countWords(pre_existing.length, "failure")} before this change too, not to be fixed.`,
  ];
  return (
    <>
      <p>{triageWords(verdict)}</p>
      <ul className="list-disc pl-5">
        {[...evidence, ...(verdict === "failing" ? counts : [])].map(
          (each) =>
            each && (
              <li key={each} className="[overflow-wrap:anywhere]">
                <TickedText text={each} />
              </li>
            ),
        )}
      </ul>
    </>
  );
}

/** What happened between this iteration and the next. */
function Turns({ fix, after }: { fix: FixView; after: number }) {
  return fix.turns
    .filter(({ n }) => n === after)
    .map((turn) => (
      <Item key={turn.number} isTurn>
        <Turn turn={turn} />
      </Item>
    ));
}

function Turn({ turn }: { turn: FixTurn }) {
  switch (turn.kind) {
    case "escalated":
      return (
        <p>
          <span className="font-medium text-paused">{reasonWords(turn.reason)}</span>
          {turn.why !== "" && <>: {turn.why}</>}
        </p>
      );
    case "rolled_back":
      return <p>Rolled back to {treeWords(turn.to)}</p>;
    case "decided":
      return (
        <>
          <p className="font-medium">
            {turn.by || "The user"} {choiceWords(turn.choice)}
          </p>
          {turn.text !== "" && turn.choice !== "roll_back" && (
            <blockquote className="whitespace-pre-wrap text-muted [overflow-wrap:anywhere]">{turn.text}</blockquote>
          )}
        </>
      );
  }
}

function Item({ children, isTurn = false }: { children: ReactNode; isTurn?: boolean }) {
  return (
    <li className={isTurn ? "border-paused-fill border-l-2 pl-3" : "space-y-1.5 border-line-strong border-l-2 pl-3"}>
      {children}
    </li>
  );
}

/** The steps of an iteration: each leads to its log. */
function StepLinks({ occurrence, n }: { occurrence: string; n: number }) {
  const { view, selected, select, show } = useRun("view", "version", "selected", "select", "show");
  const base = `${occurrence}[${n}].`;
  const steps = [...view.steps.values()].filter((step) => step.occurrence.startsWith(base));
  if (steps.length === 0) return null;
  return (
    <div role="group" aria-label={`Logs of ${treeWords(n)}`} className="flex flex-wrap gap-1.5">
      {steps.map((step) => (
        <Choice
          key={step.occurrence}
          title="Show its log"
          isChosen={selected === step.occurrence}
          onChoose={() => {
            select(step.occurrence);
            show({ dock: "log" });
          }}
        >
          <StatusIcon status={step.status} className="size-3.5" />
          {step.occurrence.slice(base.length).replace("#", " #")}
        </Choice>
      ))}
    </div>
  );
}

/** Why the loop gave up, and all that the server says of it. */
function Why({ turn: { why, message } }: { turn: Extract<FixTurn, { kind: "escalated" }> }) {
  if (why === "") return <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{message}</p>;
  return (
    <>
      <p className="[overflow-wrap:anywhere]">{why}</p>
      {message !== "" && (
        <details className="text-sm">
          <summary className="text-muted">Message</summary>
          <p className="mt-1 whitespace-pre-wrap font-mono [overflow-wrap:anywhere]">{message}</p>
        </details>
      )}
    </>
  );
}
