import { Bug, CalendarClock, CircleAlert, GitBranch, Hand, Play, SquareKanban, Webhook } from "lucide-react";
import { Link } from "wouter";
import { repoApi } from "@/api/repo-client";
import { useRepoFlows } from "@/api/repo-queries";
import type { Mistake, RepoFlowInfo, RepoInfo } from "@/api/types";
import { repoLink, runsLink, startLink } from "@/core/links";
import { formatMoment } from "@/core/time";
import { describeTriggers, type TriggerKind } from "@/core/triggers";
import { EmptyRepo } from "@/features/repos/empty-repo";
import { useChange } from "@/features/repos/use-change";
import { classNames } from "@/ui/class-names";
import { Empty, Failed, Loading } from "@/ui/feedback";
import { LinkButton } from "@/ui/link-button";
import { Badge } from "@/ui/status-icon";
import { Switch } from "@/ui/switch";
import { TickedText } from "@/ui/ticked-text";

type FlowsTabProps = { repo: RepoInfo; canChange: boolean };

/** The flows of the default branch: what starts each, what is wrong with it, and how to start it now. */
export function FlowsTab({ repo, canChange }: FlowsTabProps) {
  const flows = useRepoFlows(repo.id);
  if (flows.error && !flows.data) return <Failed error={flows.error} onRetry={() => flows.refetch()} />;
  if (!flows.data) return <Loading label="Loading flows" />;
  if (repo.head === null && repo.state === "ready") return <EmptyRepo repo={repo.id} branch={repo.default_branch} />;
  if (flows.data.length === 0) {
    return (
      <Empty icon={<Play className="size-6" />} title="No flows yet">
        Flows are the YAML files in <code className="font-mono text-sm">.pitstop/flows</code> on {repo.default_branch}.{" "}
        <code className="font-mono text-sm">pitstop init</code> writes a first one.
      </Empty>
    );
  }
  return (
    <ul aria-label="Flows" className="divide-y divide-line rounded-lg border border-line bg-surface">
      {flows.data.map((flow) => (
        <li key={flow.path}>
          <Flow repo={repo} flow={flow} canChange={canChange} />
        </li>
      ))}
    </ul>
  );
}

function Flow({ repo, flow, canChange }: { repo: RepoInfo; flow: RepoFlowInfo; canChange: boolean }) {
  const change = useChange(repo.id);
  const { name, title, problems, is_enabled } = flow;
  const isBroken = problems.length > 0;
  return (
    <article aria-label={name} className="flex flex-wrap items-start gap-x-3 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-72 space-y-1">
        <h2 className="flex min-h-6 flex-wrap items-center gap-x-2">
          <Link
            href={repoLink(repo.id, { tab: "code", view: "file", path: flow.path })}
            title={flow.path}
            className={classNames("min-w-6 font-medium hover:underline", !is_enabled && "text-muted")}
          >
            {name}
          </Link>
          {title !== name && <span className="min-w-0 truncate text-muted">{title}</span>}
          {isBroken && (
            <Badge tone="failed">
              <CircleAlert className="size-3" aria-hidden />
              broken
            </Badge>
          )}
          {!is_enabled && <Badge>disabled</Badge>}
        </h2>
        {isBroken ? <Problems repo={repo.id} problems={problems} /> : <Triggers flow={flow} />}
      </div>
      <div className="flex flex-wrap items-center gap-1.5">
        <LinkButton size="sm" look="quiet" href={runsLink({ repo: repo.id, flow: name })} label={`Runs of ${name}`}>
          Runs
        </LinkButton>
        {canChange && !isBroken && (
          <>
            <LinkButton
              size="sm"
              href={startLink({ repo: repo.id, flow: name, debug: 1 })}
              icon={<Bug className="size-3.5" aria-hidden />}
              label={`Debug ${name}`}
            >
              Debug
            </LinkButton>
            <LinkButton
              size="sm"
              href={startLink({ repo: repo.id, flow: name })}
              icon={<Play className="size-3.5" aria-hidden />}
              label={`Start ${name}`}
            >
              Start
            </LinkButton>
          </>
        )}
        {canChange && (
          <Switch
            label={is_enabled ? `Disable ${name}` : `Enable ${name}`}
            isOn={is_enabled}
            onChange={(enabled) => void change(() => repoApi.enableFlow(repo.id, name, enabled))}
          />
        )}
      </div>
    </article>
  );
}

const ICONS: Record<TriggerKind, typeof Hand> = {
  push: GitBranch,
  schedule: CalendarClock,
  webhook: Webhook,
  card_complete: SquareKanban,
  manual: Hand,
};

function Triggers({ flow }: { flow: RepoFlowInfo }) {
  const [next] = flow.next_times;
  return (
    <ul aria-label={`What starts ${flow.name}`} className="flex flex-wrap gap-x-4 gap-y-0.5 text-muted text-sm">
      {describeTriggers(flow.triggers).map(({ kind, text, isEnabled }) => {
        const Icon = ICONS[kind];
        return (
          <li key={text} className={classNames("flex items-center gap-1.5", !isEnabled && "line-through")}>
            <Icon className="size-3.5 shrink-0" aria-hidden />
            {text}
            {!isEnabled && <span className="sr-only"> (disabled)</span>}
          </li>
        );
      })}
      {next !== undefined && <li>next: {formatMoment(next)}</li>}
    </ul>
  );
}

function Problems({ repo, problems }: { repo: string; problems: readonly Mistake[] }) {
  return (
    <ul className="space-y-0.5 text-failed text-sm">
      {problems.map(({ file, line, column, message, hint }) => (
        <li key={`${file}:${line}:${column}:${message}`}>
          <Link
            href={repoLink(repo, { tab: "code", view: "file", path: file, line })}
            className="font-mono hover:underline"
          >
            {file}:{line}:{column}
          </Link>{" "}
          <TickedText text={message} />
          {hint && (
            <span className="text-muted">
              {" "}
              (<TickedText text={hint} />)
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
