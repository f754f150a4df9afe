import { useMemo } from "react";
import { api } from "@/api/client";
import { hasFix, hasSteps, type Panels, type RunPageState, stepOf, useRun, useRunValue } from "@/api/run-context";
import { useCommands } from "@/app/commands";
import { FixableTests } from "@/app/fixing";
import { AgentPanel } from "@/features/agent/agent-panel";
import { BreakpointsPanel } from "@/features/debug/breakpoints-panel";
import { ConsolePanel } from "@/features/debug/console-panel";
import { ContextPanel } from "@/features/debug/context-panel";
import { FramesPanel } from "@/features/debug/frames-panel";
import { HistoryPanel } from "@/features/debug/history-panel";
import { InjectPanel } from "@/features/debug/inject-panel";
import { ShellPanel } from "@/features/debug/shell-panel";
import { VariablesPanel } from "@/features/debug/variables/variables-panel";
import { WatchPanel } from "@/features/debug/watch-panel";
import { RunGraph } from "@/features/graph/run-graph";
import { StepList } from "@/features/graph/step-list";
import { LogViewer } from "@/features/log/log-viewer";
import { StepPanel } from "@/features/step/step-panel";
import { ArtifactsPanel } from "@/features/tests/artifacts-panel";
import { Gantt } from "@/features/timing/gantt";
import { Empty } from "@/ui/feedback";
import { useMediaQuery } from "@/ui/hooks";
import { later } from "@/ui/later";
import { Split } from "@/ui/split";
import { Count, type Tab, Tabs } from "@/ui/tabs";

const FixPanel = later(() => import("@/features/fix/fix-panel").then((module) => module.FixPanel));
const RunSource = later(() => import("@/features/source/run-source").then((module) => module.RunSource));

type RunLayoutProps = {
  collapsed: ReadonlySet<string>;
  onCollapse: (collapsed: ReadonlySet<string>) => void;
};

const MAIN_TABS: readonly Tab<Panels["view"]>[] = [
  { id: "graph", label: "Graph" },
  { id: "list", label: "List" },
  { id: "source", label: "Source" },
  { id: "timing", label: "Timeline" },
  { id: "tests", label: "Tests" },
  { id: "artifacts", label: "Files" },
  { id: "fix", label: "Fix" },
];

/** The three areas of a run page: the flow, what is known of a step, and what it writes. On a narrow screen one at a time. */
export function RunLayout(props: RunLayoutProps) {
  const isNarrow = useMediaQuery("(max-width: 860px)");
  const { panels, show } = useRun("panels", "show");
  const flow = <MainArea {...props} />;
  if (isNarrow) {
    return (
      <Tabs
        label="Panels"
        tabs={[
          { id: "flow", label: "Flow" },
          { id: "step", label: "Inspect" },
          { id: "output", label: "Output" },
        ]}
        active={panels.area}
        onChange={(area) => show({ area })}
      >
        {panels.area === "flow" ? flow : panels.area === "step" ? <SideArea /> : <DockArea />}
      </Tabs>
    );
  }
  return (
    <Split name="dock" label="Resize output" direction="column" initial={62}>
      <Split name="side" label="Resize flow" direction="row" initial={62}>
        {flow}
        <SideArea />
      </Split>
      <DockArea />
    </Split>
  );
}

function MainArea({ collapsed, onCollapse }: RunLayoutProps) {
  const { panels, show, detail } = useRun("panels", "show", "detail");
  const tabs = MAIN_TABS.filter(({ id }) => id !== "fix" || hasFix(detail));
  const view = tabs.some(({ id }) => id === panels.view) ? panels.view : "graph";
  return (
    <Tabs label="The flow" tabs={tabs} active={view} onChange={(view) => show({ view })}>
      {view === "graph" && <RunGraph collapsed={collapsed} onCollapse={onCollapse} />}
      {view === "list" && <StepList collapsed={collapsed} onCollapse={onCollapse} />}
      {view === "source" && <RunSource />}
      {view === "timing" && <Gantt />}
      {view === "tests" && <FixableTests />}
      {view === "artifacts" && <ArtifactsPanel />}
      {view === "fix" && <FixPanel />}
    </Tabs>
  );
}

const SIDE_TITLES: Record<Panels["side"], string> = {
  step: "Inspect the step",
  agent: "Inspect the agent",
  variables: "Inspect the variables",
  watch: "Inspect the watches",
  frames: "Inspect the frames",
  breakpoints: "Inspect the breakpoints",
  inject: "Inject a step…",
  context: "Inspect the context of the run",
};

const DOCK_TITLES: Record<Panels["dock"], string> = {
  log: "Open the log",
  console: "Open the console",
  history: "Open time travel",
  shell: "Open the shell",
};

/** Every tab by its name, for the palette; the focus goes to the tab, so that the next key is in it. */
function useTabCommands(area: "side" | "dock", titles: Record<string, string>): void {
  const { show, isViewer } = useRun("show", "isViewer");
  const hasAgents = useRunValue(hasAgentSteps);
  useCommands(
    useMemo(
      () =>
        Object.entries(titles)
          .filter(([id]) => (!isViewer || !ACTING.has(id)) && (id !== "agent" || hasAgents))
          .map(([id, title]) => ({
            id: `tab-${id}`,
            title,
            run: () => {
              show({ [area]: id });
              requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-tab="${id}"]`)?.focus());
            },
          })),
      [area, titles, show, isViewer, hasAgents],
    ),
  );
}

const ACTING: ReadonlySet<string> = new Set(["inject", "console", "shell"]); // tabs that viewers have no use for

function SideArea() {
  const { run, panels, show, isViewer } = useRun("run", "panels", "show", "isViewer");
  const hasAgents = useRunValue(hasAgentSteps);
  const isShown = (id: Panels["side"]) => (!isViewer || !ACTING.has(id)) && (id !== "agent" || hasAgents);
  const tab = isShown(panels.side) ? panels.side : "step";
  useTabCommands("side", SIDE_TITLES);
  const tabs: readonly Tab<Panels["side"]>[] = [
    { id: "step", label: "Step" },
    { id: "agent", label: "Agent" },
    { id: "variables", label: "Variables" },
    { id: "watch", label: "Watch", mark: <CountOf what={({ view }) => view.watches.length} /> },
    { id: "frames", label: "Frames", mark: <CountOf what={({ stops }) => stops.length} tone="paused" /> },
    { id: "breakpoints", label: "Breakpoints", mark: <CountOf what={(page) => page.breakpoints.length} /> },
    { id: "inject", label: "Inject" },
    { id: "context", label: "Context", mark: <CountOf what={({ view }) => view.interventions.length} tone="paused" /> },
  ];
  return (
    <div className="h-full bg-surface">
      <Tabs
        label="Inspect"
        tabs={tabs.filter(({ id }) => isShown(id))}
        active={tab}
        onChange={(side) => show({ side })}
      >
        {tab === "step" && <StepPanel />}
        {tab === "agent" && <AgentPanel />}
        {tab === "variables" && <VariablesPanel />}
        {tab === "watch" && <WatchPanel />}
        {tab === "frames" && <FramesPanel />}
        {tab === "breakpoints" && <BreakpointsPanel />}
        {tab === "inject" && <InjectPanel />}
        {tab === "context" && <ContextPanel exportUrl={api.exportUrl(run.id)} />}
      </Tabs>
    </div>
  );
}

function hasAgentSteps({ detail, view }: RunPageState): boolean {
  return view.agents.size > 0 || detail.flow_info.steps.some((step) => step.kind === "agent");
}

function CountOf({ what, tone }: { what: (page: RunPageState) => number; tone?: "paused" }) {
  return <Count value={useRunValue(what)} tone={tone} />;
}

function DockArea() {
  const { panels, show, isViewer } = useRun("panels", "show", "isViewer");
  const tab = isViewer && ACTING.has(panels.dock) ? "log" : panels.dock;
  useTabCommands("dock", DOCK_TITLES);
  const tabs: readonly Tab<Panels["dock"]>[] = [
    { id: "log", label: "Log" },
    { id: "console", label: "Console" },
    { id: "history", label: "Time travel" },
    { id: "shell", label: "Shell" },
  ];
  return (
    <div className="h-full bg-surface">
      <Tabs
        label="Output"
        tabs={tabs.filter(({ id }) => !isViewer || !ACTING.has(id))}
        active={tab}
        onChange={(dock) => show({ dock })}
      >
        {tab === "log" && <StepLog />}
        <Kept isShown={tab === "console"}>
          <ConsolePanel isShown={tab === "console"} />
        </Kept>
        {tab === "history" && <HistoryPanel />}
        <Kept isShown={tab === "shell"}>
          <ShellPanel />
        </Kept>
      </Tabs>
    </div>
  );
}

/** What is not shown but lives on: a shell, and what was said in the console. */
function Kept({ isShown, children }: { isShown: boolean; children: React.ReactNode }) {
  return <div className={isShown ? "h-full" : "hidden"}>{children}</div>;
}

function StepLog() {
  const { run, detail, selected, selectedView: step } = useRun("run", "detail", "selected", "selectedView");
  const known = step && stepOf(detail, step.step);
  if (selected === null) return <Empty title="Select a step to see its log" />;
  if (!step) return <Empty title="This step has not started yet" />;
  if (hasSteps(detail, step.step))
    return (
      <Empty title={`${known?.title ?? step.step} contains other steps`}>Select one of them to see its log.</Empty>
    );
  return (
    <LogViewer
      run={run.id}
      occurrence={step.occurrence}
      title={known && step.occurrence === step.step ? known.title : step.occurrence}
      isWriting={step.ended_at === null}
      hasFailed={step.outcome?.error != null}
    />
  );
}
