import { useQueryClient } from "@tanstack/react-query";
import { ChevronRight, FlaskConical, SquareKanban } from "lucide-react";
import { useMemo } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { ApiError } from "@/api/client";
import { useCanChange, useIsViewer } from "@/api/queries";
import { useRepo, useRepoFeed } from "@/api/repo-queries";
import type { Connection } from "@/api/sse";
import type { RepoInfo } from "@/api/types";
import { useCommands } from "@/app/commands";
import { FixInRun } from "@/app/fixing";
import { usePageTitle } from "@/app/page-title";
import { boardLink, playgroundLink, repoLink } from "@/core/links";
import { shortSha } from "@/core/refs";
import { BranchesTab } from "@/features/repos/branches-tab";
import { CodeTab, type DrawText } from "@/features/repos/code-tab";
import { cloneCommand, landCommand, pushCommand } from "@/features/repos/commands";
import { FlowsTab } from "@/features/repos/flows-tab";
import { HooksTab } from "@/features/repos/hooks-tab";
import { PushesTab } from "@/features/repos/pushes-tab";
import { RepoState } from "@/features/repos/repo-list";
import { SettingsTab } from "@/features/repos/settings-tab";
import { type DrawFix, TestsTab } from "@/features/repos/tests-tab";
import { CommandLine } from "@/ui/command-line";
import { Failed, Loading, Notice } from "@/ui/feedback";
import { later } from "@/ui/later";
import { LinkButton } from "@/ui/link-button";
import { Count, Tabs } from "@/ui/tabs";
import { toast } from "@/ui/toast";

const FileText = later(() => import("@/features/source/file-text").then((module) => module.FileText));
const drawText: DrawText = (file) => <FileText {...file} />;

const drawFix: DrawFix = (run, test) => <FixInRun run={run} test={test} />;

const TABS = ["flows", "pushes", "branches", "tests", "code", "hooks", "settings"] as const;
type TabId = (typeof TABS)[number];
const FOR_OPERATORS: ReadonlySet<TabId> = new Set(["hooks"]);
const LABELS: Record<TabId, string> = {
  flows: "Flows",
  pushes: "Pushes",
  branches: "Branches",
  tests: "Tests",
  code: "Code",
  hooks: "Hooks",
  settings: "Settings",
};

export function RepoPage({ id }: { id: string }) {
  const connection = useRepoFeed(id);
  const repo = useRepo(id);
  usePageTitle(repo.data && repo.data.title !== id ? `${id} (${repo.data.title})` : id);
  const isGone = repo.error instanceof ApiError && repo.error.problem.status === 404;
  if (repo.error && (isGone || !repo.data)) return <Failed error={repo.error} onRetry={() => repo.refetch()} />;
  if (!repo.data) return <Loading label="Loading the repository" />;
  return (
    <div className="flex h-full flex-col">
      <Header repo={repo.data} />
      {repo.data.error && <Notice tone="failed">{repo.data.error}</Notice>}
      {repo.data.address && <Notice tone="paused">The files of this repository are on {repo.data.address}.</Notice>}
      <div className="min-h-0 flex-1">
        <RepoTabs repo={repo.data} connection={connection} />
      </div>
    </div>
  );
}

function Header({ repo }: { repo: RepoInfo }) {
  const { id, title, head, default_branch } = repo;
  return (
    <header className="border-line border-b bg-surface px-3 py-2">
      <div className="flex min-h-7 flex-wrap items-center gap-x-3">
        <nav aria-label="Breadcrumb" className="flex min-w-0 items-center gap-1">
          <Link href="/repos" className="text-muted hover:text-text">
            Repositories
          </Link>
          <ChevronRight className="size-3.5 shrink-0 text-faint" aria-hidden />
          <h1 className="truncate font-semibold text-lg">{id}</h1>
        </nav>
        <LinkButton href={boardLink(id)} size="sm" icon={<SquareKanban className="size-3.5" aria-hidden />}>
          Board
        </LinkButton>
        <LinkButton
          href={playgroundLink({ repo: id })}
          size="sm"
          icon={<FlaskConical className="size-3.5" aria-hidden />}
        >
          Try an agent
        </LinkButton>
        {title !== id && <span className="min-w-0 truncate text-muted">{title}</span>}
        <RepoState repo={repo} />
        {head && (
          <span className="min-w-0 truncate text-muted text-sm" title={head.subject}>
            {default_branch} <span className="font-mono">{shortSha(head.sha)}</span>
          </span>
        )}
      </div>
      {head && (
        <div className="mt-1.5 grid gap-1.5 sm:grid-cols-[minmax(0,2fr)_minmax(0,1fr)_minmax(0,1fr)]">
          <CommandLine label="Clone" command={cloneCommand(id)} />
          <CommandLine label="Push" command={pushCommand(default_branch)} className="hidden sm:flex" />
          <CommandLine label="Land" command={landCommand(id)} className="hidden sm:flex" />
        </div>
      )}
    </header>
  );
}

function RepoTabs({ repo, connection }: { repo: RepoInfo; connection: Connection }) {
  const [, navigate] = useLocation();
  const [params] = useSearchParams();
  const client = useQueryClient();
  const canChange = useCanChange();
  const { id } = repo;
  const isViewer = useIsViewer();
  const tabs = useMemo(() => TABS.filter((tab) => !isViewer || !FOR_OPERATORS.has(tab)), [isViewer]);
  const active = tabs.find((tab) => tab === params.get("tab")) ?? "flows";
  const commands = useMemo(
    () =>
      tabs.map((tab) => ({
        id: `show-${tab}`,
        title: `Show ${tab} of ${id}`,
        run: () => navigate(repoLink(id, { tab })),
      })),
    [id, navigate, tabs],
  );
  useCommands(commands);
  const leave = () => {
    client.removeQueries({ queryKey: ["repo", id] });
    void client.invalidateQueries({ queryKey: ["repos"] });
    toast(`Deleted ${id}`, "good");
    navigate("/repos");
  };
  return (
    <Tabs
      label={`Parts of ${id}`}
      tabs={tabs.map((tab) => ({
        id: tab,
        label: LABELS[tab],
        mark: tab === "flows" ? <Count value={repo.broken_flows} tone="failed" /> : undefined,
      }))}
      active={active}
      onChange={(tab) => navigate(repoLink(id, { tab: tab === "flows" ? null : tab }))}
    >
      <div className="h-full overflow-auto">
        <div className={active === "code" ? "h-full max-w-7xl p-3" : "max-w-7xl p-3"}>
          {active === "flows" && <FlowsTab repo={repo} canChange={canChange} />}
          {active === "pushes" && <PushesTab repo={repo} canChange={canChange} connection={connection} />}
          {active === "branches" && <BranchesTab repo={repo} canChange={canChange} />}
          {active === "tests" && <TestsTab repo={repo} drawFix={drawFix} />}
          {active === "code" && <CodeTab repo={repo} drawText={drawText} />}
          {active === "hooks" && <HooksTab repo={repo} connection={connection} />}
          {active === "settings" && <SettingsTab repo={repo} canChange={canChange} onDeleted={leave} />}
        </div>
      </div>
    </Tabs>
  );
}
