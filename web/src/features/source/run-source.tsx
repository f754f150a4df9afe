import { useMemo, useState } from "react";
import { stepOf, useRun } from "@/api/run-context";
import type { BreakpointInfo, StepInfo } from "@/api/types";
import { plannedPath } from "@/core/addresses";
import { isForCalls } from "@/core/breakpoints";
import type { LineMark, SourceMarks } from "@/features/source/marks";
import { SourceEditor } from "@/features/source/source-editor";
import { Empty } from "@/ui/feedback";
import { Choice } from "@/ui/panel";
import { toast } from "@/ui/toast";

/** The flow of a run as it was read, with stops, breakpoints and failures where they belong. */
export function RunSource() {
  const page = useRun(
    "view",
    "version",
    "stops",
    "detail",
    "stop",
    "selected",
    "selectedView",
    "select",
    "breakpoints",
    "toggleBreakpoint",
    "editBreakpoint",
    "isLive",
    "isViewer",
  );
  const { view, version, stops, detail, stop, selected, select, breakpoints, isLive, isViewer } = page;
  const files = Object.keys(detail.texts);
  const selectedStep = stepOf(detail, page.selectedView?.step ?? selected ?? "");
  const [chosen, setChosen] = useState<string | null>(null);
  const file = chosen ?? stop?.file ?? selectedStep?.file ?? files[0];
  const steps = useMemo(() => detail.flow_info.steps.filter((step) => step.file === file), [detail, file]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` tells when what is read from `view` has changed
  const marks = useMemo<SourceMarks>(() => {
    const lineOf = (path: string) => steps.find((step) => step.path === plannedPath(path))?.line;
    return {
      breakpoints: markLines(breakpoints, steps),
      stops: stops.flatMap((each) => {
        const line = lineOf(each.step);
        return line ? [{ line, isActive: each.id === stop?.id }] : [];
      }),
      failures: [...view.steps.values()].flatMap((each) => {
        const error = each.outcome?.error;
        const step = steps.find((one) => one.path === each.step);
        if (!error || each.is_retried || !step?.line || (error.origin && error.origin !== each.occurrence)) return [];
        return [
          {
            line: step.line,
            endLine: step.end_line ?? step.line,
            text: `${each.occurrence}: ${error.type}: ${error.message}`,
          },
        ];
      }),
    };
  }, [steps, breakpoints, stops, stop, view, version]);
  if (!file) return <Empty title="The source of this run is not stored" />;
  const stepAt = (line: number) => innermostAt(steps, line);
  const withStep = (line: number, act: (step: StepInfo) => void) => {
    const step = stepAt(line);
    if (isViewer) toast("Only operators can set breakpoints.");
    else if (!isLive) toast("The run has ended. Re-run it to use breakpoints.");
    else if (step) act(step);
    else toast("There is no step on this line.");
  };
  return (
    <div className="flex h-full flex-col">
      {files.length > 1 && (
        <div className="flex shrink-0 gap-1 overflow-x-auto border-line border-b px-2 py-1">
          {files.map((each) => (
            <Choice key={each} isChosen={each === file} onChoose={() => setChosen(each)}>
              <span className="font-mono">{each.split("/").at(-1)}</span>
            </Choice>
          ))}
        </div>
      )}
      <div className="min-h-0 flex-1">
        <SourceEditor
          label={`Source of ${file}`}
          text={detail.texts[file] ?? ""}
          marks={marks}
          line={(stop ? steps.find((step) => step.path === plannedPath(stop.step))?.line : selectedStep?.line) ?? null}
          onToggle={(line) => withStep(line, page.toggleBreakpoint)}
          onEdit={(line) =>
            withStep(line, (step) => {
              const own = breakpoints.find(
                ({ paths, request }) =>
                  paths.includes(step.path) && request.position !== "error" && !isForCalls(request),
              );
              page.editBreakpoint(own?.request ?? { step: step.path }, own?.id);
            })
          }
          onLine={(line) => {
            const step = stepAt(line);
            const occurrence = step && [...view.steps.values()].findLast((each) => each.step === step.path)?.occurrence;
            if (step) select(occurrence ?? step.path);
          }}
        />
      </div>
    </div>
  );
}

/** The step that a line belongs to: the one that begins last of those around it. */
export function innermostAt(steps: readonly StepInfo[], line: number): StepInfo | undefined {
  return steps
    .filter((step) => step.line !== null && step.line <= line && (step.end_line ?? step.line) >= line)
    .sort((one, other) => (other.line ?? 0) - (one.line ?? 0) || other.path.length - one.path.length)[0];
}

function markLines(breakpoints: readonly BreakpointInfo[], steps: readonly StepInfo[]): Map<number, LineMark> {
  const marks = new Map<number, LineMark>();
  for (const { request, paths } of breakpoints) {
    if (isForCalls(request) || (request.position === "error" && !request.step)) continue;
    for (const path of paths) {
      const line = steps.find((step) => step.path === path)?.line;
      if (!line) continue;
      const mark =
        request.enabled === false
          ? "off"
          : request.log
            ? "log"
            : request.condition || request.hits
              ? "conditional"
              : "on";
      if (marks.get(line) !== "on") marks.set(line, mark);
    }
  }
  return marks;
}
