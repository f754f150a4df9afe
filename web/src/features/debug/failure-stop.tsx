import { CircleX, RotateCcw } from "lucide-react";
import { stepOf, useRun } from "@/api/run-context";
import { callOf } from "@/core/addresses";
import { keysOf } from "@/core/keys";
import { hasGivenUp } from "@/core/status";
import { Button } from "@/ui/button";
import { Kbd } from "@/ui/kbd";

/** What failed at the selected stop, and the four things that people do then. */
export function FailureStop() {
  const { stop, detail, act, pending, openShell, isViewer } = useRun(
    "stop",
    "detail",
    "act",
    "pending",
    "openShell",
    "isViewer",
  );
  if (stop?.position !== "error" || callOf(stop.occurrence) !== null || hasGivenUp(stop.reasons)) return null;
  const title = stepOf(detail, stop.step)?.title ?? (stop.step || "The run");
  const can = (verb: string) => stop.allowed.includes(verb) && pending === null;
  return (
    <section
      aria-label="Failure"
      className="flex flex-wrap items-center gap-x-3 gap-y-1.5 border-line border-b bg-failed-soft px-3 py-1.5"
    >
      <CircleX className="size-4 shrink-0 text-failed" aria-hidden />
      <p className="line-clamp-3 min-w-0 flex-1 basis-60 whitespace-pre-wrap text-failed">
        <b>{title} failed</b>
        {stop.outcome?.error && `: ${stop.outcome.error}`}
      </p>
      {!isViewer && (
        <span className="flex flex-wrap items-center gap-1.5">
          {stop.allowed.includes("retry") && (
            <Button
              look="primary"
              icon={<RotateCcw className="size-3.5" />}
              disabled={!can("retry")}
              isBusy={pending === "retry"}
              onClick={() => act("retry", { stop: stop.id })}
            >
              Retry <Kbd keys={keysOf("retry")} />
            </Button>
          )}
          <Button onClick={() => openShell("shell")}>Open shell</Button>
          <Button
            disabled={!can("force")}
            title="Mark it as skipped, and continue with the next step"
            onClick={() => act("force", { stop: stop.id, status: "skipped" })}
          >
            Skip
          </Button>
          <Button
            disabled={!can("continue")}
            title="Continue with the failure, as if the run were not debugged"
            onClick={() => act("continue", { stop: stop.id })}
          >
            Let it fail
          </Button>
        </span>
      )}
    </section>
  );
}
