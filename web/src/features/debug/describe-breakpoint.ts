import type { BreakpointRequest } from "@/api/types";
import { isForCalls } from "@/core/breakpoints";

/** A breakpoint in words: where it is, and what else it asks for. */
export function describeBreakpoint(request: BreakpointRequest): { where: string; more: string } {
  const position = request.position ?? "before";
  const place = request.step
    ? request.step
    : request.kind
      ? `any ${request.kind} step`
      : request.line
        ? `${request.file ?? "line"}:${request.line}`
        : request.state
          ? ""
          : isForCalls(request)
            ? "any agent"
            : "any step";
  const where = isForCalls(request)
    ? callsIn(request, position, place)
    : request.state
      ? `when ${request.state} ${request.has_equals ? `becomes ${JSON.stringify(request.equals)}` : "changes"}${place && ` at ${place}`}`
      : position === "error"
        ? `${place === "any step" ? "any failure" : `${place} fails`}`
        : `${position} ${place}`;
  const more = [
    request.condition && `if ${request.condition}`,
    request.hits && `hits ${request.hits}`,
    request.log && `log ${request.log}`,
    request.once && "once",
  ];
  return { where, more: more.filter(Boolean).join(" · ") };
}

/** "before shell calls of fix", "when edit calls on src/** of any agent fail". */
function callsIn({ tool, path }: BreakpointRequest, position: string, place: string): string {
  const calls = `${!tool || tool === "any" ? "tool" : tool} calls${path ? ` on ${path}` : ""} of ${place}`;
  return position === "error" ? `when ${calls} fail` : `${position} ${calls}`;
}
