import { FileCode2 } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { api } from "@/api/client";
import { keepFlowBreakpoints, useFlow, useFlowBreakpoints, useFlows } from "@/api/queries";
import type { BreakpointRequest, FlowText } from "@/api/types";
import { usePageTitle } from "@/app/page-title";
import { shortFile } from "@/core/addresses";
import { StartForm } from "@/features/start/start-form";
import { classNames } from "@/ui/class-names";
import { Empty, Failed, Loading } from "@/ui/feedback";
import { SearchInput } from "@/ui/field";
import { later } from "@/ui/later";

const FlowSource = later(() => import("@/features/source/flow-source").then((module) => module.FlowSource));

export function NewRunPage() {
  usePageTitle("Start a run");
  const flows = useFlows();
  const [params, setParams] = useSearchParams();
  const [search, setSearch] = useState("");
  const name = params.get("flow") ?? flows.data?.find((flow) => !flow.problem)?.name ?? null;
  const flow = useFlow(name);
  if (flows.isPending) return <Loading />;
  if (flows.error) return <Failed error={flows.error} onRetry={() => flows.refetch()} />;
  const shown = flows.data.filter((each) => `${each.name} ${each.file}`.toLowerCase().includes(search.toLowerCase()));
  return (
    <div className="flex h-full flex-col md:flex-row">
      <aside className="flex max-h-44 shrink-0 flex-col border-line border-b bg-surface md:max-h-none md:w-60 md:border-r md:border-b-0">
        <h1 className="px-3 pt-3 font-semibold text-lg">Start a run</h1>
        <div className="p-2">
          <SearchInput label="Search flows" value={search} onText={setSearch} />
        </div>
        <ul aria-label="Flows" className="min-h-0 flex-1 overflow-auto px-2 pb-2">
          {shown.map((each) => (
            <li key={each.name}>
              <button
                type="button"
                aria-current={each.name === name}
                title={each.problem ?? each.file}
                onClick={() => setParams({ flow: each.name })}
                className={classNames(
                  "w-full rounded-md px-2 py-1 text-left",
                  each.name === name ? "bg-accent-soft" : "hover:bg-hover",
                )}
              >
                <span className="block truncate font-medium">{each.name}</span>
                <span className={classNames("block truncate text-sm", each.problem ? "text-failed" : "text-faint")}>
                  {shortFile(each.file)}
                  {each.problem && " · errors"}
                </span>
              </button>
            </li>
          ))}
          {shown.length === 0 && <li className="px-2 text-muted">No matching flows</li>}
        </ul>
      </aside>
      <div className="min-h-0 min-w-0 flex-1">
        {name === null ? (
          <Empty icon={<FileCode2 className="size-6" />} title="No flows yet">
            Flows are the YAML files in the server's flow folders.{" "}
            <code className="font-mono text-sm">pitstop init</code> creates one.
          </Empty>
        ) : flow.error ? (
          <Failed error={flow.error} onRetry={() => flow.refetch()} />
        ) : flow.data ? (
          <Chosen key={name} flow={flow.data} />
        ) : (
          <Loading />
        )}
      </div>
    </div>
  );
}

function Chosen({ flow }: { flow: FlowText }) {
  const [, navigate] = useLocation();
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
        <FlowSource flow={flow} breakpoints={shown} line={line} onToggle={toggle} />
      </div>
      <div className="shrink-0 overflow-auto border-line bg-surface p-4 md:w-80 md:border-l">
        <StartForm
          flow={flow}
          breakpoints={shown}
          onLine={setLine}
          onStart={async (request) => {
            const run = await api.start(request, key.current);
            navigate(`/runs/${run.id}`);
          }}
        />
      </div>
    </div>
  );
}
