import { useQueryClient } from "@tanstack/react-query";
import { CloudOff } from "lucide-react";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { useLocation, useSearchParams } from "wouter";
import { ApiError, api } from "@/api/client";
import { useIsViewer, useRunDetail } from "@/api/queries";
import { RunContext, type RunPageState, useRun, useRunValue } from "@/api/run-context";
import type { RunDetail } from "@/api/types";
import { useCommands } from "@/app/commands";
import { usePageTitle } from "@/app/page-title";
import { COMMANDS_NEED, runCommands } from "@/app/run-commands";
import { RunLayout } from "@/app/run-layout";
import { RunPageStore } from "@/app/run-page-store";
import { useNotifications } from "@/app/use-notifications";
import { canBeFixed } from "@/core/fix-draft";
import { runLink } from "@/core/links";
import { CallStop } from "@/features/agent/call-stop";
import { FailureStop } from "@/features/debug/failure-stop";
import { DebugToolbar } from "@/features/debug/toolbar";
import { FixDialog } from "@/features/fix/fix-dialog";
import { FixStop } from "@/features/fix/fix-stop";
import { CommitDialog } from "@/features/runs/commit-dialog";
import { DebugFailureDialog } from "@/features/runs/debug-failure-dialog";
import { FailureBanner } from "@/features/runs/failure-banner";
import { Questions } from "@/features/runs/questions";
import { RunHeader } from "@/features/runs/run-header";
import { Button } from "@/ui/button";
import { Confirm } from "@/ui/dialog";
import { Empty, Failed, Loading, Notice } from "@/ui/feedback";
import { later } from "@/ui/later";
import { toast } from "@/ui/toast";

const BreakpointDialog = later(
  () => import("@/features/debug/breakpoint-dialog").then((module) => module.BreakpointDialog),
  null,
);

const CallDialog = later(() => import("@/features/agent/call-dialogs").then((module) => module.CallDialog), null);

export function RunPage({ id }: { id: string }) {
  const detail = useRunDetail(id);
  if (detail.error && !detail.data) {
    const { error } = detail;
    if (error instanceof ApiError && error.isOffline) {
      return (
        <Empty
          icon={<CloudOff className="size-6" />}
          title="Cannot reach the server"
          action={<Button onClick={() => detail.refetch()}>Try again</Button>}
        >
          The run will appear as soon as the server answers.
        </Empty>
      );
    }
    return <Failed error={error} onRetry={() => detail.refetch()} />;
  }
  if (!detail.data) return <Loading label="Loading the run" />;
  return <Opened key={id} detail={detail.data} />;
}

function Opened({ detail }: { detail: RunDetail }) {
  const [page] = useState(() => new RunPageStore(detail));
  const isViewer = useIsViewer();
  useLayoutEffect(() => page.takeDetail(detail), [page, detail]);
  useLayoutEffect(() => page.takeRole(isViewer), [page, isViewer]);
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(new Set());
  return (
    <RunContext value={page}>
      <div className="flex h-full flex-col">
        <Header />
        <DebugToolbar />
        <FailureStop />
        <FixStop />
        <CallStop />
        <Problems />
        <Questions />
        <div className="min-h-0 flex-1">
          <RunLayout collapsed={collapsed} onCollapse={setCollapsed} />
        </div>
      </div>
      <Beside />
      <Asked page={page} />
      <Edited page={page} />
      <Answered page={page} />
    </RunContext>
  );
}

/** What belongs to the page and is not drawn in it: its title, its commands, what is told outside of it. */
function Beside() {
  const page = useRun(...COMMANDS_NEED, "run", "status");
  const client = useQueryClient();
  const { isLive, detail } = page;
  useNotifications(page);
  useCommands(useMemo(() => runCommands(page), [page]));
  usePageTitle(titleOf(page));
  const hasEnded = !isLive && detail.ended_at === null; // and what is known of its end is still to be asked for
  useEffect(() => {
    if (hasEnded) void client.invalidateQueries({ queryKey: ["run", detail.id] });
  }, [hasEnded, client, detail.id]);
  return null;
}

const tell = (error: Error) => toast(error.message, "bad");

function Header() {
  const { detail, askToCancel, isViewer } = useRun("detail", "askToCancel", "isViewer");
  const [, navigate] = useLocation();
  const client = useQueryClient();
  const [isRemoving, setRemoving] = useState(false);
  const [isChoosing, setChoosing] = useState(false);
  const [isDebugging, setDebugging] = useState(false);
  const [params, setParams] = useSearchParams();
  const [isFixing, setFixing] = useState(params.has("fix"));
  useEffect(() => {
    if (params.has("fix")) setParams({}, { replace: true }); // it is open now, and not again when this is loaded again
  }, [params, setParams]);
  const { id } = detail;
  const failed = detail.failures.length > 0;
  const canFix = failed && canBeFixed(detail);
  const begin = useCallback(
    async (how: {
      fromStep?: string;
      stops?: boolean;
      usesFile?: boolean;
      commit?: string;
      breakpoints?: string[];
    }) => {
      const breakpoints = how.breakpoints?.map((step) => ({ step }));
      const debug = { stop_at_entry: how.stops ?? false, stop_on_error: true, breakpoints };
      const asked = { from_step: how.fromStep, use_file: how.usesFile, commit: how.commit, debug };
      navigate(`/runs/${(await api.rerun(id, asked)).id}`);
    },
    [id, navigate],
  );
  const rerun = useCallback((how: Parameters<typeof begin>[0]) => void begin(how).catch(tell), [begin]);
  useCommands(
    useMemo(
      () =>
        isViewer
          ? []
          : [
              { id: "again", title: "Re-run", run: () => rerun({}) },
              { id: "again-stopped", title: "Re-run and pause on first step", run: () => rerun({ stops: true }) },
              { id: "debug-failure", title: "Debug this failure…", isPossible: failed, run: () => setDebugging(true) },
              { id: "fix", title: "Fix…", isPossible: canFix, run: () => setFixing(true) },
              { id: "again-commit", title: "Re-run on another commit…", run: () => setChoosing(true) },
            ],
      [rerun, failed, canFix, isViewer],
    ),
  );
  const beginOrSay = (how: Parameters<typeof begin>[0]) =>
    begin(how).then(
      () => null,
      (error: Error) => error.message,
    );
  return (
    <>
      <RunHeader
        onRerun={rerun}
        onChooseCommit={() => setChoosing(true)}
        onCancel={askToCancel}
        onPin={() =>
          api
            .pin(detail.id, !detail.is_pinned)
            .then(() => client.invalidateQueries({ queryKey: ["run", detail.id] }), tell)
        }
        onRemove={() => setRemoving(true)}
      />
      <Confirm
        title="Delete this run?"
        text="This deletes its logs, events and workspace. This cannot be undone."
        action="Delete run"
        isOpen={isRemoving}
        onClose={() => setRemoving(false)}
        onConfirm={() => api.remove(detail.id).then(() => navigate("/"), tell)}
      />
      {isChoosing && (
        <CommitDialog commit={detail.commit?.branch ?? ""} onRun={beginOrSay} onClose={() => setChoosing(false)} />
      )}
      <FailureBanner
        onDebug={() => setDebugging(true)}
        onFix={canFix ? () => setFixing(true) : null}
        onRerun={() => rerun({})}
      />
      {isFixing && canFix && !isViewer && (
        <FixDialog run={detail} onOpenRun={(opened) => navigate(runLink(opened))} onClose={() => setFixing(false)} />
      )}
      {isDebugging && <DebugFailureDialog detail={detail} onRun={beginOrSay} onClose={() => setDebugging(false)} />}
    </>
  );
}

function Problems() {
  const { stop, detail } = useRun("stop", "detail");
  const error = useRunValue(({ view }) => view.outcome?.error ?? null);
  const ofNoStep = error?.origin === "" ? [error.message] : []; // it could not even begin
  return [...(stop?.problems ?? []), ...(detail.problem ? [detail.problem] : []), ...ofNoStep].map((problem) => (
    <Notice key={problem} tone="failed">
      <span className="whitespace-pre-wrap">{problem}</span>
    </Notice>
  ));
}

function Asked({ page }: { page: RunPageStore }) {
  const asking = useSyncExternalStore(page.subscribe, page.asking);
  const last = useRef(asking); // the words stay while the dialog closes
  if (asking) last.current = asking;
  const { title = "", text = "", action = "", dismiss } = last.current ?? {};
  return (
    <Confirm
      title={title}
      text={text}
      action={action}
      dismiss={dismiss}
      isOpen={asking !== null}
      onClose={() => page.answer(false)}
      onConfirm={() => page.answer(true)}
    />
  );
}

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

function Answered({ page }: { page: RunPageStore }) {
  const answering = useSyncExternalStore(page.subscribe, page.answering);
  return answering && <CallDialog {...answering} onClose={page.closeAnswering} />;
}

function titleOf({ stops, status, detail }: Pick<RunPageState, "stops" | "status" | "detail">): string {
  if (stops.length > 0) return `(${stops.length}) ${detail.flow} paused`;
  return status === "pending" ? detail.flow : `${detail.flow} ${status}`;
}
