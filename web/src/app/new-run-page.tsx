import { FileCode2 } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { api } from "@/api/client";
import { keepFlowBreakpoints, useFlow, useFlowBreakpoints, useFlows, useIsViewer } from "@/api/queries";
import { useRepoChoices, useRepoFlow } from "@/api/repo-queries";
import type { BreakpointRequest, FlowText, RunRequest } from "@/api/types";
import { usePageTitle } from "@/app/page-title";
import { runLink } from "@/core/links";
import { type ChosenFlow, FlowList } from "@/features/start/flow-list";
import { RefField } from "@/features/start/ref-field";
import { StartForm } from "@/features/start/start-form";
import { Empty, Failed, Loading } from "@/ui/feedback";
import { later } from "@/ui/later";

const FlowSource = later(() => import("@/features/source/flow-source").then((module) => module.FlowSource));

export function NewRunPage() {
  const isViewer = useIsViewer();
  const title = isViewer ? "Flows" : "Start a run";
  usePageTitle(title);
  const flows = useFlows();
  const repos = useRepoChoices();
  const [params, setParams] = useSearchParams();
  if (flows.isPending) return <Loading />;
  if (flows.error) return <Failed error={flows.error} onRetry={() => flows.refetch()} />;
  const withFlows = (repos.data ?? []).filter((repo) => repo.flows > 0 && repo.state === "ready");
  const first = flows.data.find((flow) => !flow.problem)?.name;
  const named = params.get("flow") ?? (params.get("repo") ? undefined : first);
  const chosen: ChosenFlow | null = named === undefined ? null : { repo: params.get("repo"), flow: named };
  return (
    <div className="flex h-full flex-col md:flex-row">
      <aside className="flex max-h-44 shrink-0 flex-col border-line border-b bg-surface md:max-h-none md:w-60 md:border-r md:border-b-0">
        <h1 className="px-3 pt-3 font-semibold text-lg">{title}</h1>
        <FlowList
          stored={flows.data}
          repos={withFlows}
          chosen={chosen}
          onChoose={({ repo, flow }) => setParams(repo === null ? { flow } : { repo, flow })}
        />
      </aside>
      <div className="min-h-0 min-w-0 flex-1">
        {chosen === null ? (
          <Nothing hasRepos={withFlows.length > 0} />
        ) : chosen.repo === null ? (
          <Stored key={chosen.flow} name={chosen.flow} isDebugging={params.get("debug") === "1"} />
        ) : (
          <OfRepo
            key={`${chosen.repo}:${chosen.flow}`}
            repo={chosen.repo}
            name={chosen.flow}
            gitRef={params.get("ref")}
            branch={repos.data?.find(({ id }) => id === chosen.repo)?.default_branch ?? null}
            isDebugging={params.get("debug") === "1"}
            onRef={(ref) =>
              setParams((before) => {
                const next = new URLSearchParams(before);
                next.set("ref", ref);
                return next;
              })
            }
          />
        )}
      </div>
    </div>
  );
}

function Nothing({ hasRepos }: { hasRepos: boolean }) {
  if (hasRepos) return <Empty icon={<FileCode2 className="size-6" />} title="Choose a flow" />;
  return (
    <Empty icon={<FileCode2 className="size-6" />} title="No flows yet">
      Flows are the YAML files in the server's flow folders, and those in{" "}
      <code className="font-mono text-sm">.pitstop/flows</code> of a repository.{" "}
      <code className="font-mono text-sm">pitstop init</code> creates one.
    </Empty>
  );
}

function Stored({ name, isDebugging }: { name: string; isDebugging: boolean }) {
  const flow = useFlow(name);
  if (flow.error) return <Failed error={flow.error} onRetry={() => flow.refetch()} />;
  if (!flow.data) return <Loading />;
  return <Chosen flow={flow.data} choice={{ name }} isDebugging={isDebugging} />;
}

type OfRepoProps = {
  repo: string;
  name: string;
  /** As the address has it; the default branch if it has none. */
  gitRef: string | null;
  branch: string | null;
  isDebugging: boolean;
  onRef: (ref: string) => void;
};

/** A flow of a repository. Where the branch does not have it, the last one that had stays to be seen. */
function OfRepo({ repo, name, gitRef, branch, isDebugging, onRef }: OfRepoProps) {
  const flow = useRepoFlow(repo, name, gitRef);
  const last = useRef<FlowText | null>(null);
  if (flow.data) last.current = flow.data;
  const shown = flow.data ?? last.current;
  if (!shown && !flow.error) return <Loading />;
  const ref = gitRef ?? branch ?? "";
  const field = <RefField key={ref} repo={repo} value={ref} problem={flow.error?.message ?? null} onChange={onRef} />;
  if (!shown) return <div className="max-w-md p-4">{field}</div>;
  return (
    <Chosen
      flow={shown}
      choice={{ repo, name, ref: ref || null }}
      isDebugging={isDebugging}
      isBlocked={!flow.data}
      above={field}
    />
  );
}

type ChosenProps = {
  flow: FlowText;
  choice: RunRequest["flow"];
  isDebugging: boolean;
  isBlocked?: boolean;
  above?: ReactNode;
};

function Chosen({ flow, choice, isDebugging, isBlocked = false, above }: ChosenProps) {
  const [, navigate] = useLocation();
  const isViewer = useIsViewer();
  const kept = useFlowBreakpoints(flow.name);
  const [breakpoints, setBreakpoints] = useState<readonly BreakpointRequest[] | null>(null);
  const shown = useMemo(() => breakpoints ?? kept.data ?? [], [breakpoints, kept.data]);
  const [line, setLine] = useState<number | null>(null);
  const key = useRef(crypto.randomUUID()); // a double click starts one run
  useEffect(() => {
    if (breakpoints) void keepFlowBreakpoints(flow.name, breakpoints);
  }, [breakpoints, flow.name]);
  if (kept.isPending) return <Loading />; // what is set now is kept in their place, and a run stops at all of them
  const toggle = (path: string) =>
    setBreakpoints(
      shown.some((each) => each.step === path)
        ? shown.filter((each) => each.step !== path)
        : [...shown, { step: path }],
    );
  return (
    <div className="flex h-full flex-col-reverse md:flex-row">
      <div className="min-h-48 min-w-0 flex-1 md:min-h-0">
        <FlowSource flow={flow} breakpoints={shown} line={line} onToggle={isViewer ? null : toggle} />
      </div>
      <div className="shrink-0 overflow-auto border-line bg-surface p-4 md:w-80 md:border-l">
        {above}
        {isViewer ? (
          <p className="text-muted">Only operators can start runs.</p>
        ) : (
          <StartForm
            key={flow.text}
            flow={flow}
            choice={choice}
            isDebugging={isDebugging}
            isBlocked={isBlocked}
            breakpoints={shown}
            onLine={setLine}
            onStart={async (request) => {
              const run = await api.start(request, key.current);
              navigate(runLink(run.id));
            }}
          />
        )}
      </div>
    </div>
  );
}
