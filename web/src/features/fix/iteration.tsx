import type { ReactNode } from "react";
import type { FixChange, FixIteration, FixView } from "@/core/fix-view";
import { formatDuration } from "@/core/time";
import { countWords } from "@/core/words";
import { treeWords, verdictWords } from "@/features/fix/fix-words";
import { StoredText } from "@/features/fix/report";
import { Facts } from "@/ui/panel";
import { Badge } from "@/ui/status-icon";
import { TickedText } from "@/ui/ticked-text";

type IterationProps = { iteration: FixIteration; fix: FixView; version: number; links: ReactNode };

/** One iteration: what was found, what was changed, and what came of it. */
export function Iteration({ iteration, fix, version, links }: IterationProps) {
  const { n, report, change, retries, judged, started_at, ended_at } = iteration;
  const [word, tone, meaning] = judged ? verdictWords(judged.verdict) : ["", "neutral" as const, ""];
  const isRolledBack = fix.turns.some((turn) => turn.kind === "rolled_back" && turn.to < n && turn.n >= n);
  const tested = fix.tested.find((each) => each.n === n && each.after !== "user");
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-2 gap-y-0.5">
        <h3 className="font-semibold">Iteration {n}</h3>
        {judged && <Badge tone={tone}>{word}</Badge>}
        {isRolledBack && <Badge tone="muted">rolled back</Badge>}
        <span className="text-muted text-sm tabular">
          {[tested && `${tested.total} failing`, ended_at && formatDuration(ended_at - started_at)]
            .filter(Boolean)
            .join(" · ")}
        </span>
      </div>
      {judged && (
        <p>
          {meaning}
          {judged.why !== "" && !change?.touches_tests.length && <TickedText text={`: ${judged.why}`} />}
          {". "}
          {judged.best !== n && <span className="text-muted">Best so far: {treeWords(judged.best)}.</span>}
        </p>
      )}
      <Facts
        facts={[
          ["Root cause", report && <TickedText key="cause" text={report.root_cause} />],
          [
            "Recommended",
            report && report.recommended !== "" && (
              <span key="fix">
                <TickedText text={report.recommended} />
                {report.options > 1 && <span className="text-muted"> (of {report.options} options)</span>}
              </span>
            ),
          ],
          ["Changed", change && <Changed key="change" change={change} />],
          [
            "Touches tests",
            change && change.touches_tests.length > 0 && <Lines key="tests" lines={change.touches_tests} />,
          ],
          [
            "Asked again",
            retries.length > 0 && <Lines key="retries" lines={retries.map(({ role, why }) => `${role}: ${why}`)} />,
          ],
        ]}
      />
      {report && report.path !== "" && (
        <StoredText
          path={report.path}
          version={version}
          title="Report"
          note={report.status === "failed" ? "incomplete" : undefined}
        />
      )}
      {links}
    </>
  );
}

function Changed({ change: { files, lines, commit, summary, refused } }: { change: FixChange }) {
  const told = files.length === 0 ? "no files" : `${countWords(lines, "line")} in ${countWords(files.length, "file")}`;
  return (
    <>
      <span className="tabular">
        {told}
        {commit && (
          <>
            , <code className="font-mono text-sm">{commit.slice(0, 10)}</code>
          </>
        )}
        {refused && " (refused)"}
      </span>
      {files.length > 0 && <Lines lines={files} isCode />}
      {summary !== "" && (
        <p className="whitespace-pre-wrap">
          <TickedText text={summary} />
        </p>
      )}
    </>
  );
}

const MOST_LINES = 12;

function Lines({ lines, isCode = false }: { lines: readonly string[]; isCode?: boolean }) {
  return (
    <ul className={isCode ? "font-mono text-sm" : undefined}>
      {lines.slice(0, MOST_LINES).map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two lines may say the same
        <li key={at} className="[overflow-wrap:anywhere]">
          {isCode ? line : <TickedText text={line} />}
        </li>
      ))}
      {lines.length > MOST_LINES && <li className="text-muted">and {lines.length - MOST_LINES} more</li>}
    </ul>
  );
}
