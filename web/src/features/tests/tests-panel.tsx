import { FlaskConical } from "lucide-react";
import { useState } from "react";
import { useTests } from "@/api/queries";
import { useRun, useRunValue } from "@/api/run-context";
import type { TestCase } from "@/api/types";
import { formatDuration } from "@/core/time";
import { classNames } from "@/ui/class-names";
import { Empty, Failed, Loading } from "@/ui/feedback";
import { TextInput } from "@/ui/field";
import { Badge, StatusIcon } from "@/ui/status-icon";

const CHANGES = {
  new: { tone: "failed", text: "newly failing" },
  fixed: { tone: "passed", text: "fixed" },
  still_failing: { tone: "failed", text: "still failing" },
  flaky: { tone: "paused", text: "flaky" },
} as const;

const ORDER = ["failed", "error", "skipped", "passed"];

/** What the tests of the run said: failures first, each with how it compares with the run before. */
export function TestsPanel() {
  const { run, select } = useRun("run", "select");
  const ended = useRunValue(({ view }) => view.ended);
  const tests = useTests(run.id, ended);
  const [search, setSearch] = useState("");
  const [only, setOnly] = useState<string | null>(null);
  if (tests.error) return <Failed error={tests.error} onRetry={() => tests.refetch()} />;
  if (!tests.data) return <Loading label="Reading the reports" />;
  if (tests.data.length === 0) {
    return (
      <Empty icon={<FlaskConical className="size-6" />} title="No test report">
        A step that writes JUnit XML names it with <code className="font-mono text-sm">tests: reports/*.xml</code>.
      </Empty>
    );
  }
  const counts = ORDER.map((status) => ({
    status,
    count: tests.data.filter((test) => test.status === status).length,
  })).filter(({ count }) => count > 0);
  const wanted = search.toLowerCase();
  const shown = tests.data
    .filter(
      (test) => (only === null || test.status === only) && `${test.suite} ${test.name}`.toLowerCase().includes(wanted),
    )
    .sort((one, other) => ORDER.indexOf(one.status) - ORDER.indexOf(other.status));
  return (
    <div className="flex h-full flex-col">
      <div className="flex shrink-0 flex-wrap items-center gap-2 border-line border-b p-2">
        <TextInput
          type="search"
          data-search
          aria-label="Search the tests"
          placeholder="Search the tests"
          className="max-w-60"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        {counts.map(({ status, count }) => (
          <button
            key={status}
            type="button"
            aria-pressed={only === status}
            onClick={() => setOnly(only === status ? null : status)}
            className="flex items-center gap-1.5 rounded-md border border-line px-2 py-0.5 hover:bg-hover aria-pressed:border-accent aria-pressed:bg-accent-soft"
          >
            <StatusIcon status={status} className="size-3.5" />
            {count} {status}
          </button>
        ))}
      </div>
      <ul className="min-h-0 flex-1 overflow-auto">
        {shown.map((test) => (
          <Test key={`${test.step} ${test.suite} ${test.name}`} test={test} onStep={() => select(test.step)} />
        ))}
      </ul>
    </div>
  );
}

function Test({ test, onStep }: { test: TestCase; onStep: () => void }) {
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
        <span className="w-14 text-right text-muted text-sm tabular">{formatDuration(test.seconds)}</span>
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
