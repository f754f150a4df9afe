import { useState } from "react";
import { useStopConfig } from "@/api/queries";
import { useRun } from "@/api/run-context";
import type { StopInfo } from "@/api/types";
import { Button } from "@/ui/button";
import { Failed, Skeleton } from "@/ui/feedback";
import { TextArea } from "@/ui/field";
import { JsonText } from "@/ui/json-text";
import { Choice } from "@/ui/panel";

type Shown = "resolved" | "raw" | "expressions";

/** The config of a stopped step: as it would resolve now, as it is written, and what it is made of; it can be changed. */
export function StepConfig({ stop }: { stop: StopInfo }) {
  const { run, edited: version, pending, act, isViewer } = useRun("run", "edited", "pending", "act", "isViewer");
  const config = useStopConfig(run.id, stop.id, version);
  const [shown, setShown] = useState<Shown>("resolved");
  const [edited, setEdited] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  if (config.error) return <Failed error={config.error} onRetry={() => config.refetch()} />;
  if (!config.data) return <Skeleton className="h-24" />;
  const { raw, resolved, expressions, problems } = config.data;
  const save = async () => {
    try {
      const value = JSON.parse(edited ?? "") as Record<string, unknown>;
      if (await act("config", { stop: stop.id, config: value })) setEdited(null);
      setProblem(null);
    } catch (error) {
      setProblem(`Invalid JSON: ${(error as Error).message}`);
    }
  };
  return (
    <section>
      <div className="mb-1 flex items-center gap-1">
        <h3 className="mr-1 font-semibold text-muted text-sm">Config</h3>
        {(["resolved", "raw", "expressions"] as const).map((each) => (
          <Choice key={each} isChosen={shown === each} onChoose={() => setShown(each)}>
            {each === "raw" ? "as written" : each}
          </Choice>
        ))}
        <span className="flex-1" />
        {stop.allowed.includes("config") && !isViewer && edited === null && (
          <Button size="sm" look="quiet" onClick={() => setEdited(JSON.stringify(raw, null, 2))}>
            Edit
          </Button>
        )}
      </div>
      {Object.entries(problems).map(([where, told]) => (
        <p key={where} className="mb-1 rounded-md bg-failed-soft px-2 py-1 text-failed text-sm">
          <code className="font-mono">{where}</code>: {told}
        </p>
      ))}
      {edited !== null ? (
        <div className="space-y-2">
          <TextArea
            aria-label="Config as JSON"
            rows={Math.min(16, edited.split("\n").length + 1)}
            value={edited}
            aria-invalid={problem !== null}
            onChange={(event) => setEdited(event.target.value)}
          />
          {problem && <p className="text-failed text-sm">{problem}</p>}
          <p className="text-muted text-sm">Applies to this run only. Templates are resolved when the step starts.</p>
          <div className="flex gap-2">
            <Button look="primary" size="sm" onClick={save} isBusy={pending === "config"}>
              Apply
            </Button>
            <Button size="sm" onClick={() => setEdited(null)}>
              Cancel
            </Button>
          </div>
        </div>
      ) : shown === "expressions" ? (
        expressions.length === 0 ? (
          <p className="text-muted">No expressions.</p>
        ) : (
          <ul className="space-y-0.5">
            {expressions.map((expression) => (
              <li key={expression}>
                <code className="font-mono text-sm">{expression}</code>
              </li>
            ))}
          </ul>
        )
      ) : (
        <JsonText value={shown === "raw" ? raw : resolved} className="rounded-md bg-sunken p-2" />
      )}
    </section>
  );
}
