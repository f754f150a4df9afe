import { FlaskConical } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { useCanChange, useIsViewer, useMe } from "@/api/queries";
import { useRepoChoices } from "@/api/repo-queries";
import { useRun } from "@/api/run-context";
import { useTrialFeed, useTrials, useTrialsById } from "@/api/trial-queries";
import type { RepoInfo, TrialInfo } from "@/api/types";
import { useCommands } from "@/app/commands";
import { FollowedRun, PausedNotice, RunTabs } from "@/app/followed-run";
import { usePageTitle } from "@/app/page-title";
import { useShownTrials } from "@/app/use-shown-trials";
import { cardLink, playgroundLink, runLink } from "@/core/links";
import { NEW_TRIAL, type TrialDraft, trialDraftOf, trialProblems, trialRequest } from "@/core/trial-draft";
import { isTrialOver, MOST_COMPARED, withToggled } from "@/core/trials";
import { RunButtons } from "@/features/playground/run-buttons";
import { SavedBranches } from "@/features/playground/saved-branches";
import { TrialCard } from "@/features/playground/trial-card";
import { SIDE_BY_SIDE, TrialChanges } from "@/features/playground/trial-changes";
import { TrialDialog } from "@/features/playground/trial-dialogs";
import { TrialForm } from "@/features/playground/trial-form";
import { TrialHistory } from "@/features/playground/trial-history";
import { useTrialActions } from "@/features/playground/use-trial-actions";
import { useTrialRun } from "@/features/playground/use-trial-run";
import { Empty, Failed, Loading } from "@/ui/feedback";
import { Select } from "@/ui/field";
import { useSetting } from "@/ui/hooks";
import { toast } from "@/ui/toast";

export function PlaygroundPage() {
  usePageTitle("Playground");
  const [params] = useSearchParams();
  const [, navigate] = useLocation();
  const [last, remember] = useSetting("playground.repo", "");
  const repos = useRepoChoices();
  if (repos.error && !repos.data) return <Failed error={repos.error} onRetry={() => void repos.refetch()} />;
  if (!repos.data) return <Loading label="Loading the repositories" />;
  const named = params.get("repo");
  const ready = repos.data.filter(({ state }) => state === "ready");
  const repo = ready.find(({ id }) => id === (named ?? last)) ?? (named === null ? ready[0] : undefined);
  if (!repo) return <NoRepo named={named} />;
  const open = (id: string) => {
    remember(id);
    navigate(playgroundLink({ repo: id }));
  };
  return <Playground key={repo.id} repo={repo} repos={ready} onRepo={open} />;
}

function NoRepo({ named }: { named: string | null }) {
  return (
    <div className="flex h-full flex-col">
      <h1 className="px-3 pt-3 font-semibold text-lg">Playground</h1>
      <Empty
        icon={<FlaskConical className="size-6" />}
        title={named === null ? "No repositories yet" : `Repository ${named} does not exist`}
        action={
          <Link href="/repos" className="text-accent hover:underline">
            Go to repositories
          </Link>
        }
      >
        {named === null && "Agents are tried on a repository: ingest one first."}
      </Empty>
    </div>
  );
}

type PlaygroundProps = { repo: RepoInfo; repos: readonly RepoInfo[]; onRepo: (repo: string) => void };

function Playground({ repo, repos, onRepo }: PlaygroundProps) {
  const [, navigate] = useLocation();
  const canChange = useCanChange();
  const isViewer = useIsViewer();
  const connection = useTrialFeed(repo.id);
  const history = useTrials(repo.id);
  const listed = history.data?.pages.flatMap((page) => page.trials);
  const { shown, show } = useShownTrials(repo.id, listed);
  const asked = useTrialsById(shown, connection);
  const trials = asked.flatMap(({ data }) => data ?? []);
  const me = useMe().data?.name;
  const running = trials.filter(({ state, by }) => !isTrialOver(state) && by === me); // not those of other users
  const [stored, setDraft] = useSetting<Partial<TrialDraft>>(`playground.draft.${repo.id}`, NEW_TRIAL);
  const draft = useMemo(() => ({ ...NEW_TRIAL, ...stored }), [stored]);
  const [hourly, setHourly] = useSetting("playground.hourly", "5");
  const results = useRef<HTMLDivElement>(null);
  const isReady = Object.keys(trialProblems(draft)).length === 0;
  const form = useTrialRun({
    repo: repo.id,
    request: isReady ? trialRequest(repo.id, draft) : null,
    limit: Number(hourly) || 0,
    connection,
    onShow: show,
  });
  const { continuous } = form;
  const run = async () => {
    if (await form.run()) results.current?.scrollIntoView?.({ block: "nearest" });
  };
  const change = (changes: Partial<TrialDraft>) => {
    setDraft({ ...draft, ...changes });
    form.clearProblem();
  };
  const actions = useTrialActions({
    repo: repo.id,
    onOpenRun: (opened) => navigate(runLink(opened)),
    onOpenCard: (card) => navigate(cardLink(card)),
    onShow: show,
    onEdit: (trial) => {
      setDraft(trialDraftOf(trial));
      toast("Filled in the form with the settings of this trial.");
    },
  });
  const cancelAll = () => {
    if (continuous.isOn) continuous.change(false);
    for (const trial of running) if (trial.state !== "cancelling") void actions.cancel(trial);
  };
  const doing = useRef({ run, cancelAll });
  doing.current = { run, cancelAll };
  const isAnyRunning = running.length > 0;
  useCommands(
    useMemo(
      () => [
        {
          id: "try",
          title: "Run the trial",
          shortcut: "try",
          isPossible: canChange,
          run: () => void doing.current.run(),
        },
        {
          id: "cancel-trial",
          title: "Cancel the running trials",
          shortcut: "cancel-trial",
          isPossible: canChange && isAnyRunning,
          run: () => doing.current.cancelAll(),
        },
      ],
      [canChange, isAnyRunning],
    ),
  );
  const failed = asked.find(({ error, data }) => error && !data);
  return (
    <div className="relative flex h-full flex-col overflow-y-auto lg:flex-row lg:overflow-hidden">
      <aside
        aria-label="Trials of this repository"
        className="border-line bg-surface max-lg:contents lg:relative lg:w-104 lg:shrink-0 lg:space-y-5 lg:overflow-y-auto lg:border-r lg:p-3"
      >
        <div className="border-line max-lg:border-b max-lg:bg-surface max-lg:p-3">
          <header className="mb-3 flex items-center gap-3">
            <h1 className="font-semibold text-lg">Playground</h1>
            <Select aria-label="Repository" value={repo.id} onChange={(event) => onRepo(event.target.value)}>
              {repos.map(({ id }) => (
                <option key={id}>{id}</option>
              ))}
            </Select>
          </header>
          {isViewer ? (
            <p className="text-muted">Operators can try agents here. You can see what was tried.</p>
          ) : (
            <TrialForm repo={repo} draft={draft} isTried={form.isTried} onChange={change}>
              <RunButtons
                agents={draft.profiles.length}
                isStarting={form.isStarting}
                isRunning={isAnyRunning}
                isCancelling={isAnyRunning && running.every(({ state }) => state === "cancelling")}
                problem={form.problem}
                continuous={continuous}
                hourly={hourly}
                onHourly={setHourly}
                onRun={() => void run()}
                onCancel={cancelAll}
              />
            </TrialForm>
          )}
        </div>
        <section aria-labelledby="history" className="max-lg:order-2 max-lg:p-3">
          <h2 id="history" className="mb-1 font-semibold">
            History
          </h2>
          <TrialHistory
            history={history}
            trials={listed}
            shown={shown}
            onShow={(ids) => show(ids.slice(0, MOST_COMPARED))}
            onToggle={(trial) => show(withToggled(shown, trial))}
          />
        </section>
        <section aria-labelledby="saved" className="max-lg:order-2 max-lg:p-3">
          <h2 id="saved" className="mb-1 font-semibold">
            Saved branches
          </h2>
          <SavedBranches repo={repo} canChange={canChange} />
        </section>
      </aside>
      <div
        ref={results}
        className="relative min-w-0 flex-1 space-y-4 p-3 max-lg:order-1 max-lg:flex-none lg:overflow-y-auto"
      >
        {failed?.error && <Failed error={failed.error} onRetry={() => void failed.refetch()} />}
        {shown.length === 0 ? (
          <Empty icon={<FlaskConical className="size-6" />} title="Try a prompt">
            The agent works on a copy of the files. No branch changes unless you save the result.
          </Empty>
        ) : trials.length === 0 && !failed ? (
          <Loading label="Loading the trials" />
        ) : (
          <div className={SIDE_BY_SIDE}>
            {trials.map((trial) => (
              <ShownTrial key={trial.id} trial={trial} canChange={canChange} actions={actions} />
            ))}
          </div>
        )}
        {trials.length > 0 && <TrialChanges trials={trials} />}
      </div>
      {actions.asked && (
        <TrialDialog
          asked={actions.asked}
          onSave={actions.save}
          onCard={actions.makeCard}
          onDelete={(trial) => async () => {
            const refused = await actions.remove(trial)();
            if (refused === null) show(shown.filter((each) => each !== trial.id));
            return refused;
          }}
          onClose={actions.close}
        />
      )}
    </div>
  );
}

type ShownTrialProps = { trial: TrialInfo; canChange: boolean; actions: ReturnType<typeof useTrialActions> };

function ShownTrial({ trial, canChange, actions }: ShownTrialProps) {
  const [isPaused, setPaused] = useState(false);
  const isOver = isTrialOver(trial.state);
  const hasBegun = trial.started_at !== null;
  return (
    <TrialCard
      trial={trial}
      isPaused={isPaused && !isOver}
      canChange={canChange}
      busy={actions.busyOf(trial.id)}
      drawRun={
        hasBegun
          ? () => (
              <FollowedRun run={trial.run} version={isOver ? 1 : 0} gone="The run of this trial has been deleted.">
                <TrialRun profile={trial.profile} onPaused={setPaused} />
              </FollowedRun>
            )
          : null
      }
      onAction={(action) => actions.begin(trial, action)}
    />
  );
}

function TrialRun({ profile, onPaused }: { profile: string; onPaused: (isPaused: boolean) => void }) {
  const { stops } = useRun("stops");
  const isPaused = stops.length > 0;
  useEffect(() => onPaused(isPaused), [isPaused, onPaused]);
  return (
    <>
      <PausedNotice />
      <RunTabs label={`Run of ${profile}`} isAgent />
    </>
  );
}
