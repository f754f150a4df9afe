import { Bot, ChevronsDown } from "lucide-react";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { stepOf, useRun } from "@/api/run-context";
import { callOf, hostOf } from "@/core/addresses";
import { type AgentView, formatCost, formatTokens } from "@/core/agent-view";
import { CallRow } from "@/features/agent/call-row";
import { IconButton } from "@/ui/button";
import { copyText } from "@/ui/copy";
import { Empty } from "@/ui/feedback";
import { Choice, PanelBar } from "@/ui/panel";
import { StatusIcon } from "@/ui/status-icon";

const AT_FIRST = 200; // rows of the conversation that are drawn, and how many more with each click
const NEAR_END = 40; // pixels

/** What an agent said and did: live, and of a run that has ended. */
export function AgentPanel() {
  const { isLive, view, version, detail, selected, select, stop } = useRun(
    "isLive",
    "view",
    "version",
    "detail",
    "selected",
    "select",
    "stop",
  );
  const stopped = stop && hostOf(stop.occurrence);
  const all = [...view.agents.keys()];
  const shown = [selected, stopped].find((each) => each && view.agents.has(each)) ?? all.at(-1);
  const agent = shown === undefined ? undefined : view.agents.get(shown);
  if (!agent || shown === undefined) {
    return (
      <Empty icon={<Bot className="size-6" />} title={isLive ? "No agent has started yet" : "No agent was started"}>
        {isLive && "What it says and the tools that it calls appear here."}
      </Empty>
    );
  }
  const step = view.steps.get(shown);
  const held = stop && stopped === shown ? callOf(stop.occurrence) : null;
  return (
    <div role="group" aria-label={`Agent in ${shown}`} className="flex h-full min-h-0 flex-col">
      {all.length > 1 && (
        <PanelBar wraps>
          {all.map((each) => (
            <Choice key={each} isChosen={each === shown} onChoose={() => select(each)}>
              <StatusIcon status={view.steps.get(each)?.status ?? "waiting"} className="size-3.5" />
              {all.some((other) => other !== each && view.steps.get(other)?.step === view.steps.get(each)?.step)
                ? each
                : (stepOf(detail, each)?.title ?? each)}
            </Choice>
          ))}
        </PanelBar>
      )}
      <Facts agent={agent} status={step?.status ?? "waiting"} />
      <Conversation
        key={shown}
        agent={agent}
        version={version}
        held={held}
        isAtWork={step !== undefined && step.ended_at === null}
        host={step?.step ?? shown}
      />
    </div>
  );
}

function Facts({ agent, status }: { agent: AgentView; status: string }) {
  const { profile, model, session, turns, cost, tokens, calls } = agent;
  const facts = [
    calls.size === 1 ? "1 call" : `${calls.size} calls`,
    turns !== null && (turns === 1 ? "1 turn" : `${turns} turns`),
    cost !== null && formatCost(cost),
    tokens !== null && formatTokens(tokens),
  ];
  return (
    <header className="flex shrink-0 flex-wrap items-center gap-x-2 gap-y-0.5 border-line border-b px-3 py-1.5 text-sm">
      <StatusIcon status={status} className="size-3.5" />
      <h2 className="font-semibold text-base">{profile ?? "Agent"}</h2>
      {model && <code className="font-mono text-muted">{model}</code>}
      <span className="text-muted tabular">{facts.filter(Boolean).join(" · ")}</span>
      {session && (
        <button
          type="button"
          title={`Copy the session ID ${session}`}
          className="min-h-5 rounded-sm bg-sunken px-1 font-mono text-muted hover:bg-hover"
          onClick={() => copyText(session, "session ID")}
        >
          session {session.slice(0, 8)}
        </button>
      )}
    </header>
  );
}

type ConversationProps = { agent: AgentView; version: number; held: string | null; isAtWork: boolean; host: string };

/** The newest rows, at their end until the user scrolls up. */
function Conversation({ agent, version, held, isAtWork, host }: ConversationProps) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` tells when the agent has changed
  const rows = useMemo(() => agent.rows(), [agent, version]);
  const [most, setMost] = useState(AT_FIRST);
  const [isFollowing, setFollowing] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const heightBefore = useRef(0); // of what was drawn when more was asked for
  const earlier = Math.max(0, rows.length - most);

  // biome-ignore lint/correctness/useExhaustiveDependencies: it scrolls when there is more to be seen
  useEffect(() => {
    if (isFollowing && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [isFollowing, rows, held]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was to be seen stays where it is when more comes above it
  useLayoutEffect(() => {
    if (box.current && heightBefore.current > 0)
      box.current.scrollTop += box.current.scrollHeight - heightBefore.current;
    heightBefore.current = 0;
  }, [most]);

  const scrolled = () => {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_END;
    if (isAtEnd !== isFollowing) setFollowing(isAtEnd);
  };
  const showMore = () => {
    heightBefore.current = box.current?.scrollHeight ?? 0;
    setMost(most + AT_FIRST);
  };
  const isThinking = isAtWork && held === null && ![...agent.calls.values()].some((call) => call.state === "running");
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={box}
        onScroll={scrolled}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with keys
        tabIndex={0}
        role="group"
        aria-label="Conversation"
        className="h-full overflow-y-auto overflow-x-hidden focus-visible:-outline-offset-2"
      >
        {earlier > 0 && (
          <button type="button" className="w-full py-1.5 text-accent text-sm hover:underline" onClick={showMore}>
            Show {Math.min(earlier, AT_FIRST)} earlier of {earlier}
          </button>
        )}
        <ol className="py-1">
          {rows.slice(earlier).map((row) => (
            <li key={row.id} className={row.depth > 0 ? "border-line border-l-2" : undefined} style={indent(row.depth)}>
              {row.kind === "said" ? (
                <p className="whitespace-pre-wrap break-words px-3 py-1.5">{row.text}</p>
              ) : (
                <CallRow call={row.call} isHeld={row.call.call === held} isAtWork={isAtWork} host={host} />
              )}
            </li>
          ))}
          {rows.length === 0 && !isThinking && <li className="px-3 py-1.5 text-muted">It said nothing.</li>}
          {isThinking && (
            <li className="flex items-center gap-2 px-3 py-1.5 text-muted text-sm">
              <StatusIcon status="running" className="size-3.5" />
              Working
            </li>
          )}
        </ol>
      </div>
      {!isFollowing && isAtWork && (
        <span className="absolute right-3 bottom-2 rounded-md bg-surface shadow-pop">
          <IconButton label="Follow the agent" look="plain" onClick={() => setFollowing(true)}>
            <ChevronsDown className="size-4" />
          </IconButton>
        </span>
      )}
    </div>
  );
}

const INDENT = 20; // pixels

function indent(depth: number): { marginLeft?: number } {
  return depth === 0 ? {} : { marginLeft: depth * INDENT };
}
