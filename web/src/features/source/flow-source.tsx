import { useMemo } from "react";
import type { BreakpointRequest, FlowText } from "@/api/types";
import type { SourceMarks } from "@/features/source/marks";
import { innermostAt } from "@/features/source/run-source";
import { SourceEditor } from "@/features/source/source-editor";
import { toast } from "@/ui/toast";

type FlowSourceProps = {
  flow: FlowText;
  breakpoints: readonly BreakpointRequest[];
  /** The line to bring into view. */
  line: number | null;
  /** Null for a user who may only look. */
  onToggle: ((path: string) => void) | null;
};

/** A stored flow, to choose where its next run stops. */
export function FlowSource({ flow, breakpoints, line, onToggle }: FlowSourceProps) {
  const steps = useMemo(
    () => (flow.info?.steps ?? []).filter((step) => step.file === flow.info?.file || step.file === flow.file),
    [flow],
  );
  const marks = useMemo<SourceMarks>(() => {
    const lines = breakpoints.flatMap((each) => {
      const line = each.line ?? steps.find((step) => step.path === each.step || step.id === each.step)?.line;
      return line ? [[line, each.log ? "log" : each.condition ? "conditional" : "on"] as const] : [];
    });
    const failures = flow.mistakes
      .filter((mistake) => mistake.file === flow.file)
      .map((mistake) => ({ line: mistake.line, endLine: mistake.line, text: mistake.message }));
    return { breakpoints: new Map(lines), stops: [], failures };
  }, [breakpoints, steps, flow]);
  const toggle = (line: number) => {
    const step = innermostAt(steps, line);
    if (!onToggle) return;
    if (step) onToggle(step.path);
    else toast("There is no step on this line.");
  };
  return (
    <SourceEditor
      label={`Source of ${flow.name}`}
      text={flow.text}
      marks={marks}
      line={line}
      onToggle={toggle}
      onEdit={toggle}
      onLine={() => {}}
    />
  );
}
