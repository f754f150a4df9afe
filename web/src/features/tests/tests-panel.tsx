import { FlaskConical } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import { useTestHistory, useTests } from "@/api/queries";
import { useRun, useRunValue } from "@/api/run-context";
import type { TestCase, TestedRun } from "@/api/types";
import { tellCounts } from "@/core/test-counts";
import { formatDuration } from "@/core/time";
import { RunBars, TestMarks } from "@/features/tests/test-history";
import { classNames } from "@/ui/class-names";
import { Empty, Failed, Loading } from "@/ui/feedback";
import { SearchInput } from "@/ui/field";
import { Choice, PanelBar } from "@/ui/panel";
import { Badge, StatusIcon } from "@/ui/status-icon";

const CHANGES = {
  new: { tone: "failed", text: "newly failing" },
  fixed: { tone: "passed", text: "fixed" },
  still_failing: { tone: "failed", text: "still failing" },
  flaky: { tone: "paused", text: "flaky" },
  removed: { tone: "muted", text: "removed" },
} as const;

const FAILING: ReadonlySet<string> = new Set(["failed", "error"]);
const ORDER = ["failed", "error", "removed", "skipped", "passed"];

type TestsPanelProps = {
  /** What can be done about a test that fails. */
  drawFix?: ((test: TestCase) => ReactNode) | null;
};

/** What the tests of the run said: failures first, each with how it compares with the runs of the flow before. */
export function TestsPanel({ drawFix }: TestsPanelProps) {
  const { run, select } = useRun("run", "select");
  const ended = useRunValue(({ view }) => view.ended);
  const tests = useTests(run.id, ended);
  const past = useTestHistory(run.id, ended);
  const [search, setSearch] = useState("");
  const [only, setOnly] = useState<string | null>(null);
  const history = past.data ?? [];
  const all = useMemo(() => withEarlier(tests.data ?? [], past.data ?? []), [tests.data, past.data]);
  if (tests.error) return <Failed error={tests.error} onRetry={() => tests.refetch()} />;
  if (!tests.data || past.isPending) return <Loading label="Loading test reports" />;
  const own = history.find((each) => each.run === run.id);
  if (tests.data.length === 0 && !own) {
    return (
      <Empty icon={<FlaskConical className="size-6" />} title="No test reports">
        A step declares its JUnit XML reports with <code className="font-mono text-sm">tests: reports/*.xml</code>.
      </Empty>
    );
  }
  const counts = ORDER.map((status) => ({
    status,
    count: all.filter((test) => test.status === status).length,
  })).filter(({ count }) => count > 0);
  const wanted = search.toLowerCase();
  const shown = all
    .filter(
      (test) => (only === null || test.status === only) && `${test.suite} ${test.name}`.toLowerCase().includes(wanted),
    )
    .sort((one, other) => ORDER.indexOf(one.status) - ORDER.indexOf(other.status));
  return (
    <div className="flex h-full flex-col">
      <div className="flex shrink-0 flex-wrap items-end justify-between gap-x-6 gap-y-2 border-line border-b p-3">
        <div>
          <p className="font-medium">{own ? tellCounts(own) : "No report for this run yet"}</p>
          <p className="text-muted text-sm">
            {own && own.seconds > 0 && `in ${formatDuration(own.seconds)} · `}
            {history.length > 1
              ? `compared with the previous ${history.length === 2 ? "run" : `${history.length - 1} runs`}`
              : "the first run of this flow with a report"}
          </p>
        </div>
        <RunBars history={history} current={run.id} />
      </div>
      {all.length === 0 ? (
        <Empty icon={<FlaskConical className="size-6" />} title="All tests passed, in this run and in earlier ones" />
      ) : (
        <>
          <PanelBar wraps>
            <SearchInput
              label="Search tests"
              placeholder="Search failed tests"
              className="max-w-80"
              value={search}
              onText={setSearch}
            />
            {counts.map(({ status, count }) => (
              <Choice key={status} isChosen={only === status} onChoose={() => setOnly(only === status ? null : status)}>
                <StatusIcon status={status} className="size-3.5" />
                {count} {status}
              </Choice>
            ))}
          </PanelBar>
          <ul className="min-h-0 flex-1 overflow-auto">
            {shown.map((test) => (
              <Test
                key={keyOf(test)}
                test={test}
                history={history}
                onStep={() => select(test.step)}
                fix={FAILING.has(test.status) && drawFix?.(test)}
              />
            ))}
            {shown.length === 0 && <li className="p-3 text-muted">No matching tests</li>}
          </ul>
        </>
      )}
    </div>
  );
}

const keyOf = ({ step, suite, name }: Pick<TestCase, "step" | "suite" | "name">) => `${step} ${suite} ${name}`;

/** The tests of this run, and those that passed now and failed in one of the runs before it. */
export function withEarlier(tests: readonly TestCase[], history: readonly TestedRun[]): TestCase[] {
  const known = new Map(tests.map((test) => [keyOf(test), test]));
  for (const failing of history.flatMap((each) => each.failing)) {
    const passed: TestCase = { ...failing, status: "passed", seconds: 0, message: "", change: "" };
    if (!known.has(keyOf(failing))) known.set(keyOf(failing), passed);
  }
  return [...known.values()];
}

type TestProps = { test: TestCase; history: readonly TestedRun[]; onStep: () => void; fix: ReactNode };

function Test({ test, history, onStep, fix }: TestProps) {
  const change = test.change ? CHANGES[test.change] : null;
  return (
    <li className="border-line border-b px-3 py-1.5">
      <div className="flex items-center gap-2">
        <StatusIcon status={test.status} className="size-3.5" />
        <span className="font-medium">{test.name}</span>
        <span className="min-w-0 truncate text-faint text-sm">{test.suite}</span>
        {change && <Badge tone={change.tone}>{change.text}</Badge>}
        <span className="flex-1" />
        <button type="button" className="text-muted text-sm hover:underline" onClick={onStep}>
          {test.step}
        </button>
        {history.length > 1 && (
          <TestMarks
            history={history}
            isFailing={(each) => each.failing.some((failing) => keyOf(failing) === keyOf(test))}
          />
        )}
        {fix}
      </div>
      {test.message && (
        <pre
          className={classNames(
            "mt-1 ml-5.5 whitespace-pre-wrap rounded-md bg-sunken p-2 font-mono text-sm",
            test.status !== "skipped" && "text-failed",
          )}
        >
          {test.message}
        </pre>
      )}
    </li>
  );
}
