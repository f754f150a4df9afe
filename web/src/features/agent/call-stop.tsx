import { ShieldCheck, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { useRun, useRunValue } from "@/api/run-context";
import type { StopInfo, ToolCallInfo } from "@/api/types";
import { hostOf } from "@/core/addresses";
import { keysOf, type ShortcutId } from "@/core/keys";
import { CallInput } from "@/features/agent/call-input";
import { ToolIcon } from "@/features/agent/tool-icon";
import { Button } from "@/ui/button";
import { classNames } from "@/ui/class-names";
import { CodeText } from "@/ui/json-text";
import { Kbd } from "@/ui/kbd";

const WISHES: Record<string, string> = {
  read: "wants to read a file",
  edit: "wants to edit a file",
  shell: "wants to run a command",
  search: "wants to search",
  web: "wants to access the web",
  mcp: "wants to call an MCP tool",
  task: "wants to start a subagent",
};

/** The tool call that the frame is paused at: what it does, whether the hold is a guarantee, and how to answer. */
export function CallStop() {
  const { stop, isViewer } = useRun("stop", "isViewer");
  const profile = useRunValue(({ view, stop }) => stop && view.agents.get(hostOf(stop.occurrence))?.profile);
  if (!stop?.call) return null;
  const { call, position } = stop;
  const wish = WISHES[call.tool] ?? "wants to call a tool";
  return (
    <section
      aria-label="Tool call"
      className={classNames(
        "shrink-0 space-y-2 border-line border-b px-3 py-2",
        position === "error" ? "bg-failed-soft" : "bg-paused-soft",
      )}
    >
      <div className="flex flex-wrap items-center gap-x-2 gap-y-0.5">
        <ToolIcon tool={call.tool} className="size-4 shrink-0 text-text" />
        <h2 className="font-semibold">
          {position === "before"
            ? `${profile ?? "The agent"} ${wish}`
            : `The call ${position === "error" ? "failed" : "returned"}`}
        </h2>
        <code className="rounded-sm bg-surface px-1 font-mono text-sm">{call.name}</code>
        {position === "before" && <Hold call={call} />}
      </div>
      <Scroller label="Input and result">
        <CallInput input={call.input} command={call.command} paths={call.paths} />
        {position !== "before" && (
          <>
            <p className="mt-1.5 text-muted text-sm">Result</p>
            <CodeText value={outputOf(stop)} />
          </>
        )}
      </Scroller>
      {!isViewer && <Answers stop={stop} />}
    </section>
  );
}

/** What the pause is worth: the agent waits for Pitstop, or for a hook of its own that may fail. */
function Hold({ call: { guarantee } }: { call: ToolCallInfo }) {
  const Icon = guarantee ? ShieldCheck : TriangleAlert;
  return (
    <p className="flex min-w-0 items-center gap-1 text-sm">
      <Icon className={classNames("size-3.5 shrink-0", guarantee ? "text-passed" : "text-paused")} aria-hidden />
      {guarantee
        ? "A guarantee: the call cannot run until you allow it, even if Pitstop stops."
        : "A convenience, not a guard: the agent’s own hook holds the call, and it runs if that hook fails."}
    </p>
  );
}

function Answers({ stop }: { stop: StopInfo }) {
  const { act, pending, answerCall, askToCancel } = useRun("act", "pending", "answerCall", "askToCancel");
  const can = (verb: string) => stop.allowed.includes(verb) && pending === null;
  const isBefore = stop.position === "before";
  return (
    <div className="flex flex-wrap items-center gap-1.5">
      <Button
        look="primary"
        disabled={!can("continue")}
        isBusy={pending === "continue"}
        onClick={() => act("continue", { stop: stop.id })}
      >
        {isBefore ? "Allow" : "Continue"} <Key of="continue" />
      </Button>
      {isBefore ? (
        <>
          <Button disabled={!can("config")} onClick={() => answerCall("edit")}>
            Edit input…
          </Button>
          <Button disabled={!can("skip")} onClick={() => answerCall("refuse")}>
            Refuse…
          </Button>
          <Button disabled={!can("force")} onClick={() => answerCall("result")}>
            Give a result…
          </Button>
        </>
      ) : (
        <Button disabled={!can("force")} onClick={() => answerCall("result")}>
          Replace the result…
        </Button>
      )}
      <span className="mx-1 h-5 w-px bg-line-strong max-md:hidden" />
      <Button
        disabled={!can("step_over")}
        title={isBefore ? "Allow this call, and pause before the next one" : "Pause before the next call"}
        onClick={() => act("step", { stop: stop.id, kind: "over" })}
      >
        Next call <Key of="over" />
      </Button>
      <Button
        disabled={!can("step_out")}
        title={stop.call?.parent ? "Pause when the subagent has ended" : "Pause when the agent has ended"}
        onClick={() => act("step", { stop: stop.id, kind: "out" })}
      >
        {stop.call?.parent ? "To the end of the subagent" : "To the end of the agent"} <Key of="out" />
      </Button>
      {isBefore && (
        <Button disabled={!can("inject")} onClick={() => answerCall("inject")}>
          Inject a shell step…
        </Button>
      )}
      <Button look="danger" className="max-md:hidden" onClick={askToCancel}>
        Cancel run…
      </Button>
    </div>
  );
}

/** The key of a button, where there may be a keyboard. */
function Key({ of }: { of: ShortcutId }) {
  return (
    <span className="max-md:hidden">
      <Kbd keys={keysOf(of)} />
    </span>
  );
}

/** A box that scrolls when there is much in it, also by keys. */
function Scroller({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div
      role="group"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with keys
      tabIndex={0}
      className="max-h-40 overflow-auto max-md:max-h-24 rounded-md border border-line bg-surface p-2 [&_pre]:bg-transparent! [&_pre]:p-0!"
    >
      {children}
    </div>
  );
}

/** The text that a call returned. */
export function outputOf({ outcome }: StopInfo): string {
  const outputs = outcome?.outputs as { output?: unknown } | null | undefined;
  return typeof outputs?.output === "string" ? outputs.output : (outcome?.error ?? "");
}
