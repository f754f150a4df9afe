import { useMemo } from "react";
import type { StepInfo } from "@/api/types";
import { type Layout, layOut } from "@/core/lanes";
import type { RunView } from "@/core/run-view";

/** The boxes of the graph, laid out anew only when an occurrence or a frame came or went, or something was folded up. */
export function useLayout(steps: readonly StepInfo[], view: RunView, collapsed: ReadonlySet<string>): Layout {
  const shape = view.shape;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` tells when what is read from `view` has changed
  return useMemo(
    () => layOut(steps, { occurrences: view.steps.keys(), frames: view.frames, injected: view.injected }, collapsed),
    [steps, view, shape, collapsed],
  );
}
