import { Bug, CircleX, RotateCcw, Wrench } from "lucide-react";
import { stepOf, useRun } from "@/api/run-context";
import { shortFile } from "@/core/addresses";
import { Button } from "@/ui/button";

type FailureBannerProps = { onDebug: () => void; onFix: (() => void) | null; onRerun: () => void };

/** Why a run failed, above everything else, and the way into it. */
export function FailureBanner({ onDebug, onFix, onRerun }: FailureBannerProps) {
  const { detail, isLive, isViewer, select, show } = useRun("detail", "isLive", "isViewer", "select", "show");
  const [failure, ...others] = detail.failures;
  if (isLive || !failure) return null;
  const step = stepOf(detail, failure.step);
  const showSource = () => {
    select(failure.occurrence);
    show({ view: "source" });
  };
  return (
    <section
      aria-label="Failure"
      className="flex flex-wrap items-center gap-x-3 gap-y-1.5 border-line border-b bg-failed-soft px-3 py-2"
    >
      <CircleX className="size-4 shrink-0 text-failed" aria-hidden />
      <div className="min-w-0 flex-1 basis-60">
        <p className="line-clamp-3 whitespace-pre-wrap text-failed">
          <button type="button" className="font-semibold hover:underline" onClick={() => select(failure.occurrence)}>
            {step?.title ?? failure.step}
          </button>{" "}
          failed: {failure.message}
        </p>
        <p className="text-muted text-sm">
          {step?.file && (
            <button type="button" className="min-h-6 font-mono hover:underline" onClick={showSource}>
              {shortFile(step.file)}:{step.line}
            </button>
          )}
          {others.length > 0 && ` · ${others.length} more failed`}
        </p>
      </div>
      {!isViewer && (
        <span className="flex flex-wrap items-center gap-1.5">
          <Button look="primary" icon={<Bug className="size-3.5" />} onClick={onDebug}>
            Debug this failure…
          </Button>
          {onFix && (
            <Button icon={<Wrench className="size-3.5" />} onClick={onFix}>
              Fix…
            </Button>
          )}
          <Button icon={<RotateCcw className="size-3.5" />} onClick={onRerun}>
            Re-run
          </Button>
        </span>
      )}
    </section>
  );
}
