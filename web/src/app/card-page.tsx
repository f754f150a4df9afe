import { useQueryClient } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { Link, useLocation } from "wouter";
import { boardKey, cardKey, useCard, useCardFeed } from "@/api/card-queries";
import { ApiError } from "@/api/client";
import { useIsViewer, useRunDetail } from "@/api/queries";
import { hasSteps, RunContext, stepOf, titleOfPlace, useRun, useRunValue } from "@/api/run-context";
import type { Board, CardInfo, RunDetail } from "@/api/types";
import { useCommands } from "@/app/commands";
import { usePageTitle } from "@/app/page-title";
import { RunPageStore } from "@/app/run-page-store";
import { boardLink, runLink } from "@/core/links";
import { tellPlace } from "@/core/status";
import { AgentPanel } from "@/features/agent/agent-panel";
import { CardView } from "@/features/card/card-view";
import { LiveFacts } from "@/features/card/live-facts";
import { LogViewer } from "@/features/log/log-viewer";
import { TestsPanel } from "@/features/tests/tests-panel";
import { classNames } from "@/ui/class-names";
import { Empty, Failed, Loading, Notice } from "@/ui/feedback";
import { Select } from "@/ui/field";
import { later } from "@/ui/later";
import { type Tab, Tabs } from "@/ui/tabs";
import { toast } from "@/ui/toast";

const CardForm = later(() => import("@/features/board/card-form").then((module) => module.CardForm), null);

const BreakpointDialog = later(
  () => import("@/features/debug/breakpoint-dialog").then((module) => module.BreakpointDialog),
  null,
);

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

/** The run of the last attempt, followed as its own page follows it. */
function CardRun({ card, run }: { card: CardInfo; run: string }) {
  const detail = useRunDetail(run);
  if (!detail.data) {
    const isGone = detail.error instanceof ApiError && detail.error.problem.status === 404;
    if (isGone) return <p className="text-muted">The run of attempt {card.attempt} has been deleted.</p>;
    return detail.error ? <Failed error={detail.error} onRetry={() => detail.refetch()} /> : <Loading />;
  }
  return <FollowedRun key={run} card={card} detail={detail.data} />;
}

function FollowedRun({ card, detail }: { card: CardInfo; detail: RunDetail }) {
  const [page] = useState(() => new RunPageStore(detail));
  const isViewer = useIsViewer();
  useLayoutEffect(() => page.takeDetail(detail), [page, detail]);
  useLayoutEffect(() => page.takeRole(isViewer), [page, isViewer]);
  return (
    <RunContext value={page}>
      <section
        aria-labelledby="attempt-run"
        className="overflow-hidden rounded-lg border border-line bg-surface [overflow-wrap:anywhere]"
      >
        <RunState card={card} />
        <RunTabs isAgent={card.work === "agent"} />
      </section>
      <Refreshing version={card.version} />
      <Edited page={page} />
    </RunContext>
  );
}

function RunState({ card }: { card: CardInfo }) {
  const { detail, status, isLoaded, stops } = useRun("detail", "status", "isLoaded", "stops");
  const [stop, ...others] = stops;
  const known = isLoaded && status !== "pending" ? status : detail.status;
  return (
    <>
      <LiveFacts card={card} run={detail.id} status={stop ? "paused" : known} />
      {stop && (
        <Notice tone="paused">
          <Link href={runLink(detail.id)} className="font-medium underline">
            Paused {tellPlace(stop.position, titleOfPlace(detail, stop.occurrence, stop.call))}: open the debugger
          </Link>
          {others.length > 0 && ` (${others.length} more paused)`}
        </Notice>
      )}
    </>
  );
}

type TabId = "agent" | "log" | "tests";

const LABELS: Record<TabId, string> = { agent: "Agent", log: "Log", tests: "Tests" };

function hasReport(outputs: unknown): boolean {
  return typeof outputs === "object" && outputs !== null && "tests" in outputs && outputs.tests !== null;
}

/** What the agent says and does, what the steps write, and what the tests say: their reports first, if there are any. */
function RunTabs({ isAgent }: { isAgent: boolean }) {
  const { isLive } = useRun("isLive");
  const hasAgents = useRunValue(({ view }) => view.agents.size > 0) || isAgent;
  const hasTests = useRunValue(({ view }) =>
    [...view.steps.values()].some(({ outcome }) => hasReport(outcome?.outputs)),
  );
  const [chosen, setChosen] = useState<TabId | null>(null);
  const atFirst = !isLive && hasTests ? "tests" : hasAgents ? "agent" : "log";
  const tabs: Tab<TabId>[] = (["agent", "log", "tests"] as const)
    .filter((tab) => tab !== "agent" || hasAgents)
    .map((tab) => ({ id: tab, label: LABELS[tab] }));
  const active = tabs.find(({ id }) => id === chosen)?.id ?? atFirst;
  return (
    <div className={classNames("max-h-[70vh] border-line border-t", isLive ? "h-112" : "h-72")}>
      <Tabs label="Last attempt" tabs={tabs} active={active} onChange={setChosen}>
        {active === "agent" && <AgentPanel />}
        {active === "log" && <StepLog />}
        {active === "tests" && <TestsPanel />}
      </Tabs>
    </div>
  );
}

/** The log of a step: of the one that runs, of the one that failed, or of another that the user chooses. */
function StepLog() {
  const {
    run,
    detail,
    view,
    version,
    selectedView: step,
    select,
  } = useRun("run", "detail", "view", "version", "selectedView", "select");
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` tells when the run has changed
  const all = useMemo(
    () => [...view.steps.values()].filter((each) => !hasSteps(detail, each.step)),
    [view, version, detail],
  );
  if (!step) return <Empty title="No step has started yet" />;
  const title = stepOf(detail, step.step)?.title ?? step.step;
  return (
    <div className="flex h-full flex-col">
      {all.length > 1 && (
        <div className="shrink-0 border-line border-b p-1.5">
          <Select
            aria-label="Step"
            className="w-auto! max-w-full"
            value={step.occurrence}
            onChange={(event) => select(event.target.value)}
          >
            {all.map(({ occurrence }) => (
              <option key={occurrence}>{occurrence}</option>
            ))}
          </Select>
        </div>
      )}
      <div className="min-h-0 flex-1">
        <LogViewer
          run={run.id}
          occurrence={step.occurrence}
          title={title}
          isWriting={step.ended_at === null}
          hasFailed={step.outcome?.error != null}
        />
      </div>
    </div>
  );
}

/** Asks again for what is known of the run when it ends, and for its tests when the card has changed. */
function Refreshing({ version }: { version: number }) {
  const { isLive, detail } = useRun("isLive", "detail");
  const client = useQueryClient();
  const { id, ended_at } = detail;
  const hasEnded = !isLive && ended_at === null;
  useEffect(() => {
    if (hasEnded) void client.invalidateQueries({ queryKey: ["run", id] });
  }, [hasEnded, client, id]);
  const asked = useRef(version);
  useEffect(() => {
    if (asked.current === version) return;
    asked.current = version; // the reports of a run are stored after its end, and the card changes then
    for (const name of ["tests", "test-history"]) void client.invalidateQueries({ queryKey: [name, id] });
  }, [client, id, version]);
  return null;
}

/** The breakpoint that a user adds at a tool call. */
function Edited({ page }: { page: RunPageStore }) {
  const editing = useSyncExternalStore(page.subscribe, page.editing);
  if (!editing) return null;
  return (
    <BreakpointDialog
      flow={page.state().detail.flow_info}
      request={editing.request}
      isNew={editing.id === undefined}
      onSave={page.saveBreakpoint}
      onClose={page.closeEditing}
    />
  );
}
