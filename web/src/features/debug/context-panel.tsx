import { Copy } from "lucide-react";
import { useRun } from "@/api/run-context";
import type { RunDetail } from "@/api/types";
import { formatMoment } from "@/core/time";
import { Button } from "@/ui/button";
import { copyText } from "@/ui/copy";
import { JsonText } from "@/ui/json-text";

/** What the run is about: where it came from, what it was given, who had a hand in it, and how to join it elsewhere. */
export function ContextPanel({ exportUrl }: { exportUrl: string }) {
  const { detail, debug, isLive } = useRun("detail", "debug", "isLive");
  const join = `pitstop debug ${detail.id} --server ${location.origin}`;
  const interventions = debug?.interventions ?? [];
  const from = detail.from_run && `${detail.from_run}${detail.from_step ? ` at ${detail.from_step}` : ""}`;
  const facts: [string, React.ReactNode][] = [
    ["Run", <code key="run">{detail.id}</code>],
    ["Flow", detail.flow],
    ["File", detail.file],
    ["Created", formatMoment(detail.created_at)],
    ["Started", detail.started_at && formatMoment(detail.started_at)],
    ["Ended", detail.ended_at && formatMoment(detail.ended_at)],
    ["Goes on from", from && `${from}, with ${detail.carried_over} of its events`],
    ["Priority", detail.priority],
    ["Workspace", workspaceOf(detail)],
    ...Object.entries((detail.inputs.trigger ?? {}) as Record<string, unknown>).map(
      ([name, value]): [string, React.ReactNode] => [name, String(value)],
    ),
    ["Session", debug?.session ?? detail.session],
  ];
  const told = facts.filter(([, value]) => value !== null && value !== "" && value !== 0);
  return (
    <div className="h-full space-y-4 overflow-auto p-3">
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
        {told.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-muted">{name}</dt>
            <dd className="min-w-0 break-words">{value}</dd>
          </div>
        ))}
      </dl>
      {isLive && (
        <section>
          <h2 className="mb-1 font-semibold text-muted text-sm">Join it in a terminal</h2>
          <div className="flex items-center gap-2 rounded-md bg-sunken py-1 pr-1 pl-2">
            <code className="min-w-0 flex-1 truncate font-mono text-sm">{join}</code>
            <Button
              size="sm"
              look="quiet"
              icon={<Copy className="size-3.5" />}
              onClick={() => copyText(join, "the command")}
            >
              Copy
            </Button>
          </div>
        </section>
      )}
      {Object.keys(detail.inputs).length > 0 && (
        <section>
          <h2 className="mb-1 font-semibold text-muted text-sm">Inputs</h2>
          <JsonText value={detail.inputs} className="rounded-md bg-sunken p-2" />
        </section>
      )}
      <section>
        <h2 className="mb-1 font-semibold text-muted text-sm">Interventions</h2>
        {interventions.length === 0 ? (
          <p className="text-muted">Nobody had a hand in this run.</p>
        ) : (
          <ol className="list-decimal space-y-0.5 pl-5">
            {interventions.map((told, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the list only grows
              <li key={at}>{told}</li>
            ))}
          </ol>
        )}
      </section>
      <a href={exportUrl} download className="inline-block text-accent hover:underline">
        Export the session
      </a>
    </div>
  );
}

function workspaceOf({ is_pinned, kept_until, ended_at }: RunDetail): string {
  if (is_pinned) return "kept: the run is pinned";
  if (ended_at === null) return "in use";
  return kept_until === null ? "gone" : `kept until ${formatMoment(kept_until)}`;
}
