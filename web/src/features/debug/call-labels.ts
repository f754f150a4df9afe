import type { StopInfo } from "@/api/types";

const AT_STEP = { continue: "Continue", over: "Step over", out: "Step out", skip: "Skip step" };
const BEFORE_CALL = { continue: "Allow call", over: "Next call", out: "To the end of the agent", skip: "Refuse call…" };

/** What the commands of the debugger are called at a stop: at a tool call they mean something of their own. */
export function labelsAt(stop: StopInfo | null): typeof AT_STEP {
  if (!stop?.call) return AT_STEP;
  const labels = stop.position === "before" ? BEFORE_CALL : { ...BEFORE_CALL, continue: "Continue" };
  return stop.call.parent === null ? labels : { ...labels, out: "To the end of the subagent" };
}
