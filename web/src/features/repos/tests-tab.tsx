import { FlaskConical } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useSearchParams } from "wouter";
import type { TestState } from "@/api/repo-client";
import { useRepoFlows, useRepoTests, useTestTrends } from "@/api/repo-queries";
import type { RepoInfo, TestSummary } from "@/api/types";
import { tellFailures } from "@/core/test-counts";
import { formatDuration } from "@/core/time";
import { EmptyRepo } from "@/features/repos/empty-repo";
import { RefSelect } from "@/features/repos/ref-select";
import { TestResults } from "@/features/repos/test-results";
import { TestTrend, TREND_RUNS } from "@/features/repos/test-trend";
import { Button } from "@/ui/button";
import { Empty, Failed, Loading } from "@/ui/feedback";
import { SearchInput } from "@/ui/field";
import { Fold } from "@/ui/fold";
import { useNow } from "@/ui/hooks";
import { Choice } from "@/ui/panel";
import { Badge, StatusIcon } from "@/ui/status-icon";
import { Count } from "@/ui/tabs";

const STATES: Record<TestState, string> = { failing: "Failing", flaky: "Flaky", slow: "Slowest", all: "All tests" };
const NOTHING: Record<TestState, string> = {
  failing: "No test fails in the last run.",
  flaky: "No test is flaky.",
  slow: "No tests",
  all: "No tests",
};
const MOST_TRENDS = 12;

/** What can be done about a test that failed in a run. */
export type DrawFix = (run: string, test: TestSummary) => ReactNode;

/** The tests of a branch: how they did in the last runs, and which of them fail, are flaky or take long. */
export function TestsTab({ repo, drawFix }: { repo: RepoInfo; drawFix: DrawFix }) {
  const [params, setParams] = useSearchParams();
  const ref = params.get("ref") ?? repo.default_branch;
  if (repo.head === null) return <EmptyRepo repo={repo.id} branch={repo.default_branch} />;
  return (
    <div className="space-y-3">
      <RefSelect
        repo={repo.id}
        label="Branch"
        value={ref}
        onChange={(name) => setParams({ tab: "tests", ...(name === repo.default_branch ? {} : { ref: name }) })}
      />
      <Tests key={ref} repo={repo.id} gitRef={ref} drawFix={drawFix} />
    </div>
  );
}

type TestsProps = { repo: string; gitRef: string; drawFix: DrawFix };

function Tests({ repo, gitRef, drawFix }: TestsProps) {
  const now = useNow(true, 30_000);
  const failing = useRepoTests(repo, gitRef, "failing");
  const flaky = useRepoTests(repo, gitRef, "flaky");
  const slow = useRepoTests(repo, gitRef, "slow");
  const [chosen, setChosen] = useState<TestState | null>(null);
  const isAll = chosen === "all";
  const every = useRepoTests(repo, gitRef, "all", isAll);
  const lists = { failing, flaky, slow, all: every };
  const flows = useRepoFlows(repo).data ?? [];
  const reporting = [failing, flaky, slow].flatMap((list) => testsIn(list).map(({ flow }) => flow));
  const names = [...new Set([...reporting, ...flows.map(({ name }) => name)])].slice(0, MOST_TRENDS);
  const trends = useTestTrends(repo, gitRef, names, TREND_RUNS);
  const asked = [failing, flaky, slow];
  const broken = asked.find(({ error, data }) => error && !data);
  if (broken?.error) return <Failed error={broken.error} onRetry={() => asked.map((each) => each.refetch())} />;
  if (asked.some(({ data }) => !data)) return <Loading label="Loading tests" />;
  if (testsIn(slow).length === 0) return <NoTests gitRef={gitRef} />;
  const counts = { failing: testsIn(failing).length, flaky: testsIn(flaky).length };
  const state = chosen ?? (counts.failing > 0 ? "failing" : counts.flaky > 0 ? "flaky" : "slow");
  return (
    <>
      <div className="grid gap-3 xl:grid-cols-2">
        {trends.map(({ flow, runs }) => (
          <TestTrend key={flow} flow={flow} runs={runs} now={now} />
        ))}
      </div>
      <div role="group" aria-label="Tests to show" className="flex flex-wrap gap-1">
        {(Object.keys(STATES) as TestState[]).map((each) => (
          <Choice key={each} isChosen={each === state} onChoose={() => setChosen(each)}>
            {STATES[each]}
            {each === "failing" && <Count value={counts.failing} tone="failed" />}
            {each === "flaky" && <Count value={counts.flaky} tone="paused" />}
          </Choice>
        ))}
      </div>
      <TestList key={state} repo={repo} gitRef={gitRef} state={state} list={lists[state]} now={now} drawFix={drawFix} />
    </>
  );
}

type List = ReturnType<typeof useRepoTests>;

const testsIn = (list: List): TestSummary[] => list.data?.pages.flatMap((page) => page.tests) ?? [];

/** What a branch without reports shows: how a step makes one. */
function NoTests({ gitRef }: { gitRef: string }) {
  return (
    <Empty icon={<FlaskConical className="size-6" />} title={`No test reports on ${gitRef} yet`}>
      <p>
        A step that runs tests says where its report is. Its results are here as soon as a run of the flow has ended.
      </p>
      <pre className="my-3 rounded-md bg-sunken p-2 text-left font-mono text-sm text-text">
        {"steps:\n  - run: pytest\n    tests: pytest\n  - run: npm test\n    tests: report.xml"}
      </pre>
      <p>
        <code className="font-mono text-sm">pytest</code> writes its report by itself. Other test runners write JUnit
        XML: the guide <code className="font-mono text-sm">docs/guides/tests.md</code> says how.
      </p>
    </Empty>
  );
}

type TestListProps = TestsProps & { state: TestState; list: List; now: number };

function TestList({ repo, gitRef, state, list, now, drawFix }: TestListProps) {
  const [search, setSearch] = useState("");
  if (list.error && !list.data) return <Failed error={list.error} onRetry={() => list.refetch()} />;
  if (!list.data) return <Loading label="Loading tests" />;
  const wanted = search.toLowerCase();
  const shown = testsIn(list).filter(({ suite, name }) => `${suite} ${name}`.toLowerCase().includes(wanted));
  return (
    <>
      {state === "all" && <SearchInput label="Search tests" className="max-w-80" value={search} onText={setSearch} />}
      <ul
        aria-label={state === "all" ? STATES.all : `${STATES[state]} tests`}
        className="divide-y divide-line rounded-lg border border-line bg-surface"
      >
        {shown.map((test) => (
          <li key={`${test.flow} ${test.step} ${test.case}`}>
            <Test repo={repo} gitRef={gitRef} test={test} now={now} drawFix={drawFix} />
          </li>
        ))}
        {shown.length === 0 && (
          <li className="px-4 py-2.5 text-muted">{search ? "No matching tests" : NOTHING[state]}</li>
        )}
      </ul>
      {list.hasNextPage && state !== "slow" && (
        <div className="text-center">
          <Button isBusy={list.isFetchingNextPage} onClick={() => list.fetchNextPage()}>
            Show more tests
          </Button>
        </div>
      )}
    </>
  );
}

type TestProps = TestsProps & { test: TestSummary; now: number };

/** One test; it opens to its results. */
function Test({ repo, gitRef, test, now, drawFix }: TestProps) {
  const failures = tellFailures(test);
  return (
    <Fold
      look="grid-cols-[1rem_1rem_minmax(0,1fr)_auto] px-4"
      inside="px-4"
      summary={
        <>
          <StatusIcon status={test.last_status} className="size-3.5" />
          <span className="min-w-0">
            <span className="flex items-center gap-2">
              <span className="truncate font-medium">{test.name}</span>
              <span className="sr-only">{test.last_status}</span>
              {test.state === "flaky" && <Badge tone="paused">flaky</Badge>}
            </span>
            <span className="block truncate text-muted text-sm">
              {test.suite && `${test.suite} · `}
              {test.flow}: {test.step}
              {failures && ` · ${failures}`}
            </span>
          </span>
          <span className="text-right text-muted text-sm tabular" title="Median of the last runs">
            {formatDuration(test.p50_milliseconds / 1000)}
          </span>
        </>
      }
    >
      <TestResults
        repo={repo}
        test={{ flow: test.flow, step: test.step, case: test.case }}
        gitRef={gitRef}
        now={now}
        fix={test.state === "failing" && drawFix(test.last_run, test)}
      />
    </Fold>
  );
}
