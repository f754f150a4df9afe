import { useMemo } from "react";
import { useRun } from "@/api/run-context";
import { layOut } from "@/core/lanes";
import { boxStates } from "@/features/graph/box-state";

/** The boxes of a run and what each shows: laid out anew only when an occurrence or a frame came or went, or was folded up. */
export function useBoxes(collapsed: ReadonlySet<string>) {
  const page = useRun(
    "view",
    "version",
    "stops",
    "detail",
    "selected",
    "select",
    "stop",
    "breakpoints",
    "toggleBreakpoint",
    "isViewer",
  );
  const { view, version, stops, detail, selected, stop, breakpoints } = page;
  const { steps } = detail.flow_info;
  const { shape } = view;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` tells when what is read from `view` has changed
  const layout = useMemo(
    () => layOut(steps, { occurrences: view.steps.keys(), frames: view.frames, injected: view.injected }, collapsed),
    [steps, view, shape, collapsed],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` tells when what is read from `view` has changed
  const states = useMemo(
    () => boxStates({ view, stops, activeStop: stop, breakpoints, selected }),
    [view, version, stops, stop, breakpoints, selected],
  );
  return { ...page, layout, states };
}
