/** A run on the page of what it works for, followed as its own page follows it. */

import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { Link } from "wouter";
import { ApiError } from "@/api/client";
import { useIsViewer, useRunDetail } from "@/api/queries";
import { hasSteps, RunContext, stepOf, titleOfPlace, useRun, useRunValue } from "@/api/run-context";
import type { RunDetail } from "@/api/types";
import { FixableTests } from "@/app/fixing";
import { RunPageStore } from "@/app/run-page-store";
import { runLink } from "@/core/links";
import { tellPlace } from "@/core/status";
import { AgentPanel } from "@/features/agent/agent-panel";
import { LogViewer } from "@/features/log/log-viewer";
import { classNames } from "@/ui/class-names";
import { Empty, Failed, Loading, Notice } from "@/ui/feedback";
import { Select } from "@/ui/field";
import { later } from "@/ui/later";
import { type Tab, Tabs } from "@/ui/tabs";

const BreakpointDialog = later(
  () => import("@/features/debug/breakpoint-dialog").then((module) => module.BreakpointDialog),
  null,
);

type FollowedRunProps = {
  run: string;
  /** Grows when what the run works for has changed, such as by the reports of its tests. */
  version: number;
  /** What is said of a run that does not exist any more. */
  gone: string;
  children: ReactNode;
};

/** The context of a run for what is drawn inside. */
export function FollowedRun({ run, version, gone, children }: FollowedRunProps) {
  const detail = useRunDetail(run);
  if (!detail.data) {
    const isGone = detail.error instanceof ApiError && detail.error.problem.status === 404;
    if (isGone) return <p className="text-muted">{gone}</p>;
    return detail.error ? <Failed error={detail.error} onRetry={() => detail.refetch()} /> : <Loading />;
  }
  return (
    <Followed key={run} detail={detail.data} version={version}>
      {children}
    </Followed>
  );
}

type FollowedProps = { detail: RunDetail; version: number; children: ReactNode };

function Followed({ detail, version, children }: FollowedProps) {
  const [page] = useState(() => new RunPageStore(detail));
  const isViewer = useIsViewer();
  useLayoutEffect(() => page.takeDetail(detail), [page, detail]);
  useLayoutEffect(() => page.takeRole(isViewer), [page, isViewer]);
  return (
    <RunContext value={page}>
      {children}
      <Refreshing version={version} />
      <Edited page={page} />
    </RunContext>
  );
}

/** Where the run is paused, and the way to its debugger. */
export function PausedNotice() {
  const { detail, stops } = useRun("detail", "stops");
  const [stop, ...others] = stops;
  if (!stop) return null;
  return (
    <Notice tone="paused">
      <Link href={runLink(detail.id)} className="font-medium underline">
        Paused {tellPlace(stop.position, titleOfPlace(detail, stop.occurrence, stop.call))}: open the debugger
      </Link>
      {others.length > 0 && ` (${others.length} more paused)`}
    </Notice>
  );
}

type TabId = "agent" | "log" | "tests";

const LABELS: Record<TabId, string> = { agent: "Agent", log: "Log", tests: "Tests" };

function hasReport(outputs: unknown): boolean {
  return typeof outputs === "object" && outputs !== null && "tests" in outputs && outputs.tests !== null;
}

type RunTabsProps = { label: string; isAgent: boolean };

/** What the agent says and does, what the steps write, and what the tests say: their reports first, if there are any. */
export function RunTabs({ label, isAgent }: RunTabsProps) {
  const { isLive } = useRun("isLive");
  const hasAgents = useRunValue(({ view }) => view.agents.size > 0) || isAgent;
  const hasTests = useRunValue(({ view }) =>
    [...view.steps.values()].some(({ outcome }) => hasReport(outcome?.outputs)),
  );
  const [chosen, setChosen] = useState<TabId | null>(null);
  const atFirst = !isLive && hasTests ? "tests" : hasAgents ? "agent" : "log";
  const tabs: Tab<TabId>[] = (["agent", "log", "tests"] as const)
    .filter((tab) => (tab === "agent" ? hasAgents : tab !== "tests" || hasTests))
    .map((tab) => ({ id: tab, label: LABELS[tab] }));
  const active = tabs.find(({ id }) => id === chosen)?.id ?? atFirst;
  return (
    <div className={classNames("max-h-[70vh] border-line border-t", isLive ? "h-112" : "h-72")}>
      <Tabs label={label} tabs={tabs} active={active} onChange={setChosen}>
        {active === "agent" && <AgentPanel />}
        {active === "log" && <StepLog />}
        {active === "tests" && <FixableTests />}
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

/** Asks again for what is known of the run when it ends, and for its tests when a new version is there. */
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
    asked.current = version; // the reports of a run are stored after its end
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
