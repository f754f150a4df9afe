import { useQueryClient } from "@tanstack/react-query";
import { CloudOff } from "lucide-react";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { ApiError, api } from "@/api/client";
import { useLiveRun, useRunDetail } from "@/api/queries";
import { RunContext, type RunPageState } from "@/api/run-context";
import type { RunDetail } from "@/api/types";
import { useCommands } from "@/app/commands";
import { usePageTitle } from "@/app/page-title";
import { runCommands } from "@/app/run-commands";
import { type MainView, RunLayout } from "@/app/run-layout";
import { useNotifications } from "@/app/use-notifications";
import { useRunPage } from "@/app/use-run-page";
import { DebugToolbar } from "@/features/debug/toolbar";
import { Questions } from "@/features/runs/questions";
import { RunHeader } from "@/features/runs/run-header";
import { Button } from "@/ui/button";
import { Confirm } from "@/ui/dialog";
import { Empty, Failed, Loading, Notice } from "@/ui/feedback";
import { useSetting } from "@/ui/hooks";
import { toast } from "@/ui/toast";

const BreakpointDialog = lazy(() =>
  import("@/features/debug/breakpoint-dialog").then((module) => ({ default: module.BreakpointDialog })),
);

export function RunPage({ id }: { id: string }) {
  const detail = useRunDetail(id);
  if (detail.error && !detail.data) {
    const { error } = detail;
    if (error instanceof ApiError && error.isOffline) {
      return (
        <Empty
          icon={<CloudOff className="size-6" />}
          title="The server cannot be reached"
          action={<Button onClick={() => detail.refetch()}>Try again</Button>}
        >
          The page shows the run as soon as it answers.
        </Empty>
      );
    }
    return <Failed error={error} onRetry={() => detail.refetch()} />;
  }
  if (!detail.data) return <Loading label="Opening the run" />;
  return <Opened key={id} detail={detail.data} />;
}

function Opened({ detail }: { detail: RunDetail }) {
  const { run, now } = useLiveRun(detail.id);
  const page = useRunPage(run, now, detail);
  const { state } = page;
  const [view, setView] = useSetting<MainView>("view", "graph");
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(new Set());
  const [, navigate] = useLocation();
  const client = useQueryClient();
  const [isRemoving, setRemoving] = useState(false);
  const { isLive } = state;
  useNotifications(state);
  useCommands(useMemo(() => runCommands(state, setView), [state, setView]));
  usePageTitle(titleOf(state));
  useEffect(() => {
    if (!isLive) void client.invalidateQueries({ queryKey: ["run", detail.id] });
  }, [isLive, client, detail.id]);

  const tell = (error: Error) => toast(error.message, "bad");
  const rerun = (how: { fromStep?: string; stops?: boolean; usesFile?: boolean }) => {
    const debug = { stop_at_entry: how.stops ?? false, stop_on_error: true };
    api
      .rerun(detail.id, { from_step: how.fromStep, use_file: how.usesFile, debug })
      .then((next) => navigate(`/runs/${next.id}`), tell);
  };
  return (
    <RunContext value={state}>
      <div className="flex h-full flex-col">
        <RunHeader
          onRerun={rerun}
          onCancel={() =>
            api.cancel(detail.id).then(() => toast("The run was asked to end; cleanup still runs."), tell)
          }
          onPin={() =>
            api
              .pin(detail.id, !detail.is_pinned)
              .then(() => client.invalidateQueries({ queryKey: ["run", detail.id] }), tell)
          }
          onRemove={() => setRemoving(true)}
        />
        <DebugToolbar />
        {state.stop?.problems.map((problem) => (
          <Notice key={problem} tone="failed">
            {problem}
          </Notice>
        ))}
        {detail.problem && <Notice tone="failed">{detail.problem}</Notice>}
        <Questions />
        <div className="min-h-0 flex-1">
          <RunLayout view={view} onView={setView} collapsed={collapsed} onCollapse={setCollapsed} />
        </div>
      </div>
      <Confirm
        title="This cannot be undone"
        text={page.asking?.why ?? ""}
        action="Do it all the same"
        isOpen={page.asking !== null}
        onClose={() => page.answerAsking(false)}
        onConfirm={() => page.answerAsking(true)}
      />
      <Confirm
        title="Delete this run?"
        text="Its log, its events and its workspace go. This cannot be undone."
        action="Delete the run"
        isOpen={isRemoving}
        onClose={() => setRemoving(false)}
        onConfirm={() => api.remove(detail.id).then(() => navigate("/"), tell)}
      />
      {page.editing && (
        <Suspense>
          <BreakpointDialog
            flow={detail.flow_info}
            request={page.editing.request}
            isNew={page.editing.id === undefined}
            onSave={page.saveBreakpoint}
            onClose={page.closeEditing}
          />
        </Suspense>
      )}
    </RunContext>
  );
}

function titleOf({ now, detail }: RunPageState): string {
  if (now.stops.length > 0) return `(${now.stops.length}) ${detail.flow} stopped`;
  return now.view.status === "pending" ? detail.flow : `${detail.flow} ${now.view.status}`;
}
