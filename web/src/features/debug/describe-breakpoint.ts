import type { BreakpointRequest } from "@/api/types";

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
          : "any step";
  const where = request.state
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
