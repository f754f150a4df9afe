import { CircleDot, CircleOff, Copy, FastForward, Pencil, RotateCcw, Wrench } from "lucide-react";
import { useState } from "react";
import { stepOf, useRun } from "@/api/run-context";
import { keysOf } from "@/core/keys";
import type { Box } from "@/core/lanes";
import { breakpointsByPath } from "@/features/graph/box-state";
import { copyText } from "@/ui/copy";
import type { MenuItem } from "@/ui/menu";

/** What can be done with a step by its menu: in the graph and in the list. */
export function useStepMenu() {
  const { detail, breakpoints, toggleBreakpoint, editBreakpoint, stop, act, isLive, isViewer } = useRun(
    "detail",
    "breakpoints",
    "toggleBreakpoint",
    "editBreakpoint",
    "stop",
    "act",
    "isLive",
    "isViewer",
  );
  const [box, setBox] = useState<Pick<Box, "path" | "title"> | undefined>();
  const step = box && stepOf(detail, box.path);
  const own = (box && breakpointsByPath(breakpoints).get(box.path)) ?? [];
  const acting: MenuItem[] =
    step && !isViewer
      ? [
          {
            label: own.length > 0 ? "Remove breakpoint" : "Add breakpoint",
            icon: own.length > 0 ? <CircleOff className="size-3.5" /> : <CircleDot className="size-3.5" />,
            keys: keysOf("breakpoint"),
            isDisabled: !isLive,
            onSelect: () => toggleBreakpoint(step),
          },
          {
            label: own.length > 0 ? "Edit breakpoint…" : "Add conditional breakpoint…",
            icon: <Pencil className="size-3.5" />,
            isDisabled: !isLive,
            onSelect: () => editBreakpoint(own[0]?.request ?? { step: step.path }, own[0]?.id),
          },
          ...(step.kind === "agent"
            ? [
                {
                  label: "Add breakpoint for tool calls…",
                  icon: <Wrench className="size-3.5" />,
                  isDisabled: !isLive,
                  onSelect: () => editBreakpoint({ step: step.path, tool: "any" }),
                },
              ]
            : []),
          { kind: "separator" },
          {
            label: "Run to here",
            icon: <FastForward className="size-3.5" />,
            isDisabled: !stop?.allowed.includes("run_to"),
            onSelect: () => stop && act("step", { stop: stop.id, kind: "to", step: step.path }),
          },
          {
            label: "Jump to this step",
            icon: <RotateCcw className="size-3.5" />,
            isDisabled: !stop,
            onSelect: () => stop && act("goto", { stop: stop.id, step: step.path }),
          },
          { kind: "separator" },
        ]
      : [];
  const menuItems: MenuItem[] = step
    ? [
        ...acting,
        { label: "Copy path", icon: <Copy className="size-3.5" />, onSelect: () => copyText(step.path, step.path) },
      ]
    : [{ label: "No step here", isDisabled: true, onSelect: () => {} }];
  return { menuItems, openMenuFor: setBox };
}
