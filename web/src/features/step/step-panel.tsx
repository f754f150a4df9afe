import { Bot, Hand, MousePointerClick, SquareTerminal } from "lucide-react";
import { hasSteps, stepOf, useRun } from "@/api/run-context";
import { attemptOf, callOf, hostOf, shortFile, withoutAttempt } from "@/core/addresses";
import { durationsOf } from "@/core/durations";
import { formatClock, formatDuration } from "@/core/time";
import { StepConfig } from "@/features/step/step-config";
import { Button } from "@/ui/button";
import { Empty } from "@/ui/feedback";
import { useNow } from "@/ui/hooks";
import { JsonText } from "@/ui/json-text";
import { Choice, Facts, Section } from "@/ui/panel";
import { Badge, StatusBadge } from "@/ui/status-icon";

/** All about the selected step: how it ended and why, what it gave, its config and its times. */
export function StepPanel() {
  const {
    stops,
    detail,
    selected,
    selectedView: view,
    stop,
    select,
    view: all,
    isLive,
    isViewer,
    show,
  } = useRun("stops", "detail", "selected", "selectedView", "stop", "select", "view", "isLive", "isViewer", "show");
  const clock = useNow(view?.clock.ended_at === null, 500);
  if (selected === null) {
    return (
      <Empty icon={<MousePointerClick className="size-6" />} title="No step selected">
        Select one in the graph, the list or the source.
      </Empty>
    );
  }
  const ownStop = stops.find((each) => hostOf(each.occurrence) === selected);
  const path = view?.step ?? (ownStop && hostOf(ownStop.step)) ?? withoutAttempt(selected).replace(/\[\d+\]/g, "");
  const step = stepOf(detail, path);
  const error = view?.outcome?.error;
  const lasted = view && durationsOf(view.clock, clock);
  const attempts = [...all.steps.keys()].filter((each) => withoutAttempt(each) === withoutAttempt(selected));
  return (
    <div className="h-full space-y-4 overflow-auto p-3">
      <header>
        <div className="flex flex-wrap items-center gap-2">
          <h2 className="font-semibold text-lg">{step?.title ?? path}</h2>
          <StatusBadge status={ownStop ? "paused" : (view?.status ?? "waiting")} />
          {path.includes("+") && <Badge>injected</Badge>}
          {step?.is_cleanup && <Badge>cleanup</Badge>}
        </div>
        <p className="mt-0.5 font-mono text-faint text-sm" title={step?.file ?? undefined}>
          {selected} · {step?.kind}
          {step?.file && ` · ${shortFile(step.file)}:${step.line}`}
        </p>
      </header>
      {isLive && !isViewer && view?.status === "running" && !ownStop && (
        <RunningStep occurrence={selected} hasSteps={hasSteps(detail, path)} />
      )}
      {step?.kind === "agent" && view && (
        <Button icon={<Bot className="size-3.5" />} onClick={() => show({ side: "agent" })}>
          Show what the agent does
        </Button>
      )}
      {attempts.length > 1 && (
        <div className="flex flex-wrap items-center gap-1 text-sm">
          <span className="text-muted">Attempts</span>
          {attempts.map((each) => (
            <Choice key={each} isChosen={each === selected} onChoose={() => select(each)}>
              {attemptOf(each)}
            </Choice>
          ))}
        </div>
      )}
      {error && (
        <Section title="Error">
          <div className="rounded-md border border-failed/40 bg-failed-soft p-2 text-failed">
            <p className="font-medium">{error.type}</p>
            <p className="whitespace-pre-wrap break-words font-mono text-sm">{error.message}</p>
          </div>
          {error.origin && error.origin !== selected && (
            <button
              type="button"
              className="mt-1 text-accent text-sm hover:underline"
              onClick={() => select(error.origin)}
            >
              Origin: {error.origin}
            </button>
          )}
          {error.trace && (
            <details className="mt-1 text-sm">
              <summary className="text-muted">Trace</summary>
              <JsonText value={error.trace} className="mt-1 rounded-md bg-sunken p-2" />
            </details>
          )}
        </Section>
      )}
      {view?.started_at && (
        <Section title="Timing">
          <Facts
            facts={[
              ["Started", formatClock(view.started_at)],
              ["Ran for", lasted && formatDuration(lasted.ran)],
              ["Paused for", lasted && lasted.paused > 0 ? formatDuration(lasted.paused) : "–"],
              ["Ended", view.ended_at && formatClock(view.ended_at)],
              ["Frame", view.frame !== "main" && <code className="font-mono text-sm">{view.frame}</code>],
            ]}
          />
        </Section>
      )}
      {view?.outcome && view.outcome.outputs !== null && (
        <Section title="Outputs">
          <JsonText value={view.outcome.outputs} className="rounded-md bg-sunken p-2" />
        </Section>
      )}
      {step?.condition && (
        <Section title="Runs only if">
          <code className="font-mono text-sm">{step.condition}</code>
        </Section>
      )}
      {step && (step.retries > 0 || step.goes_on_after_failure) && (
        <Section title="On failure">
          {[
            step.retries > 0 && `Retries: ${step.retries}.`,
            step.goes_on_after_failure && "The following steps still run.",
          ]
            .filter(Boolean)
            .join(" ")}
        </Section>
      )}
      {ownStop && ownStop.id === stop?.id && callOf(ownStop.occurrence) === null ? (
        <StepConfig key={ownStop.id} stop={ownStop} />
      ) : (
        step?.detail && (
          <Section title="Command">
            <JsonText value={step.detail} className="rounded-md bg-sunken p-2" />
          </Section>
        )
      )}
    </div>
  );
}

/** What can be done with a step while it runs, or hangs. */
function RunningStep({ occurrence, hasSteps }: { occurrence: string; hasSteps: boolean }) {
  const { act, openShell, pending } = useRun("act", "openShell", "pending");
  return (
    <div className="flex flex-wrap gap-1.5">
      {!hasSteps && (
        <>
          <Button icon={<SquareTerminal className="size-3.5" />} onClick={() => openShell("shell")}>
            Open shell
          </Button>
          <Button onClick={() => openShell("sidecar")}>Read-only shell</Button>
        </>
      )}
      <Button
        icon={<Hand className="size-3.5" />}
        title="End its command, and pause as if it had failed"
        isBusy={pending === "stop_step"}
        onClick={() => act("stop_step", { step: occurrence })}
      >
        Stop this step here
      </Button>
    </div>
  );
}
