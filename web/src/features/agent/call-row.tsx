import { Pencil } from "lucide-react";
import { memo } from "react";
import { useRun } from "@/api/run-context";
import { type AgentCall, commandIn, titleOfCall } from "@/core/agent-view";
import { CallInput } from "@/features/agent/call-input";
import { ToolIcon } from "@/features/agent/tool-icon";
import { Button } from "@/ui/button";
import { classNames } from "@/ui/class-names";
import { Fold } from "@/ui/fold";
import { CodeText } from "@/ui/json-text";
import { Section } from "@/ui/panel";
import { StatusIcon } from "@/ui/status-icon";

type CallRowProps = {
  call: AgentCall;
  isHeld: boolean;
  /** Whether the agent may still get a result. */
  isAtWork: boolean;
  /** The path of the step that makes the call. */
  host: string;
};

const LOOKS = {
  held: ["paused", "held"],
  running: ["running", "running"],
  ok: ["passed", "ok"],
  failed: ["failed", "failed"],
  refused: ["cancelled", "refused"],
  open: ["cancelled", "no result"],
} as const;

/** A tool call in one line, which opens to its input and what became of it. */
export const CallRow = memo(function CallRow({ call, isHeld, isAtWork, host }: CallRowProps) {
  const state = isHeld ? "held" : call.state === "running" && !isAtWork ? "open" : call.state;
  const [status, word] = LOOKS[state];
  const { edited } = call;
  const title = titleOfCall(edited ? { ...call, input: edited, command: commandIn(call, edited) } : call); // what ran
  return (
    <div className={classNames(isHeld && "bg-paused-soft")}>
      <Fold
        look="grid-cols-[auto_auto_minmax(0,1fr)_auto_auto] px-3"
        inside="px-3 space-y-2"
        summary={
          <>
            <ToolIcon tool={call.tool} />
            <span className="truncate text-sm" title={title}>
              <span className="text-muted">{call.tool === "other" ? call.name : call.tool}</span>{" "}
              <span className="font-mono">{title}</span>
            </span>
            <span className="flex items-center gap-1 text-muted text-sm tabular">
              {call.edited && <Pencil className="size-3" aria-label="edited" />}#{call.call}
            </span>
            <span
              className={classNames(
                "flex w-18 items-center gap-1 text-sm",
                state === "failed" ? "text-failed" : isHeld ? "text-paused" : "text-muted",
              )}
            >
              <StatusIcon status={status} className="size-3.5" />
              {word}
            </span>
          </>
        }
      >
        <Details call={call} host={host} />
      </Fold>
    </div>
  );
});

function Details({ call, host }: { call: AgentCall; host: string }) {
  const { editBreakpoint, isLive, isViewer } = useRun("editBreakpoint", "isLive", "isViewer");
  const { edited, output, state, refusedBy } = call;
  const tool = call.tool === "other" ? call.name : call.tool;
  return (
    <>
      <Section title={edited ? `${call.name}, as the agent asked` : call.name}>
        <CallInput input={call.input} command={call.command} paths={call.paths} />
      </Section>
      {edited && (
        <Section title="As changed in the debugger">
          <CallInput input={edited} command={commandIn(call, edited)} />
        </Section>
      )}
      {output !== null && (
        <Section title={state === "refused" ? `Refused by the ${refusedBy ?? "user"}` : "Result"}>
          {output === "" ? <p className="text-muted">No output.</p> : <CodeText value={output} />}
        </Section>
      )}
      {isLive && !isViewer && (
        <Button size="sm" onClick={() => editBreakpoint({ step: host, tool })}>
          Pause at {tool} calls…
        </Button>
      )}
    </>
  );
}
