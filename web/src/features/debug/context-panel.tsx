import { useQuery } from "@tanstack/react-query";
import { Copy } from "lucide-react";
import { api } from "@/api/client";
import { type RunDetailNow, titleOfPlace, useRun } from "@/api/run-context";
import type { CommitInfo, ContextInfo, RunDetail } from "@/api/types";
import { callOf } from "@/core/addresses";
import { formatMoment } from "@/core/time";
import { Button } from "@/ui/button";
import { copyText } from "@/ui/copy";
import { JsonText } from "@/ui/json-text";
import { Facts, Section } from "@/ui/panel";
import { Badge } from "@/ui/status-icon";

/** What the run is about: its commit, where it works, what it was given, how it was modified, and how to attach to it. */
export function ContextPanel({ exportUrl }: { exportUrl: string }) {
  const { run, detail, debug, stop, isLive } = useRun("run", "detail", "debug", "stop", "isLive");
  const context = useQuery({
    queryKey: ["context", run.id, stop?.id],
    queryFn: () => api.context(run.id, stop?.id ?? 0),
    enabled: stop !== null,
  });
  const place = stop === null ? undefined : context.data;
  const commit = place?.commit ?? detail.commit;
  const interventions = debug?.interventions ?? [];
  const from = detail.from_run && `${detail.from_run}${detail.from_step ? ` at ${detail.from_step}` : ""}`;
  const joins: [string, string][] = place?.join
    ? [
        ["Attach from a terminal", place.join],
        ["Read-only shell", place.join_sidecar],
      ]
    : [["Debug from a terminal", `pitstop debug ${detail.id} --server ${location.origin}`]];
  return (
    <div className="h-full space-y-4 overflow-auto p-3">
      <h2 className="sr-only">Context of the run</h2>
      {commit && (
        <Section title="Commit">
          <Commit commit={commit} />
        </Section>
      )}
      {place && (
        <Section title="Location">
          <Facts facts={placeFacts(place, detail)} />
        </Section>
      )}
      {isLive && (
        <Section title="Connect">
          <div className="space-y-1.5">
            {joins.map(([title, command]) => (
              <Command key={command} title={title} command={command} />
            ))}
          </div>
        </Section>
      )}
      <Section title="Run">
        <Facts
          facts={[
            ["ID", <code key="id">{detail.id}</code>],
            ["Flow", detail.flow],
            ["File", detail.file],
            ["Created", formatMoment(detail.created_at)],
            ["Started", detail.started_at && formatMoment(detail.started_at)],
            ["Ended", detail.ended_at && formatMoment(detail.ended_at)],
            ["Re-run of", from && `${from}, with ${detail.carried_over} of its events`],
            ["Priority", detail.priority || null],
            ["Workspace", workspaceOf(detail)],
            ...Object.entries((detail.inputs.trigger ?? {}) as Record<string, unknown>).map(
              ([name, value]) => [name, String(value)] as const,
            ),
            ["Session", debug?.session ?? detail.session],
          ]}
        />
      </Section>
      {Object.keys(detail.inputs).length > 0 && (
        <Section title="Inputs">
          <JsonText value={detail.inputs} className="rounded-md bg-sunken p-2" />
        </Section>
      )}
      <Section title="Interventions">
        {interventions.length === 0 ? (
          <p className="text-muted">No interventions.</p>
        ) : (
          <ol className="list-decimal space-y-0.5 pl-5">
            {interventions.map((told, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the list only grows
              <li key={at}>{told}</li>
            ))}
          </ol>
        )}
      </Section>
      <a href={exportUrl} download className="inline-block text-accent hover:underline">
        Export session
      </a>
    </div>
  );
}

function Commit({ commit: { sha, message, branch, has_changes } }: { commit: CommitInfo }) {
  return (
    <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
      <button
        type="button"
        title={`Copy ${sha}`}
        className="rounded-sm bg-sunken px-1 font-mono text-sm hover:bg-hover"
        onClick={() => copyText(sha, "commit")}
      >
        {sha.slice(0, 10)}
      </button>
      {branch && <Badge>{branch}</Badge>}
      {has_changes && (
        <Badge tone="paused" title="The folder had uncommitted changes when the run started">
          uncommitted changes
        </Badge>
      )}
      <span className="min-w-0 basis-full truncate" title={message}>
        {message}
      </span>
    </div>
  );
}

function placeFacts(place: ContextInfo, detail: RunDetailNow): readonly (readonly [string, React.ReactNode])[] {
  return [
    ["Step", place.number > 0 && `${place.title}, ${place.number} of ${place.steps}`],
    ["Call", callOf(place.step) !== null && titleOfPlace(detail, place.step)],
    ["Kind", place.kind.replace("_", " ")],
    ["Machine", `${place.machine} (${place.platform})`],
    ["Runs in", place.executor === "container" ? "a container" : "a process"],
    ["Image", place.image],
    ["Digest", place.image_digest && <code className="break-all font-mono text-sm">{place.image_digest}</code>],
    ["Folder", <code key="folder">{place.workspace}</code>],
    ["Workspace", place.in_place ? "your folder (changes persist)" : ""],
    ["Times out", place.lease_ends_at && formatMoment(place.lease_ends_at)],
  ];
}

function Command({ title, command }: { title: string; command: string }) {
  return (
    <div className="flex items-center gap-2 rounded-md bg-sunken py-1 pr-1 pl-2">
      <span className="shrink-0 text-muted text-sm">{title}</span>
      <code className="min-w-0 flex-1 truncate font-mono text-sm" title={command}>
        {command}
      </code>
      <Button
        size="sm"
        look="quiet"
        icon={<Copy className="size-3.5" />}
        aria-label={`Copy: ${command}`}
        onClick={() => copyText(command, "command")}
      >
        Copy
      </Button>
    </div>
  );
}

function workspaceOf({ is_pinned, kept_until, ended_at }: RunDetail): string {
  if (is_pinned) return "kept (run is pinned)";
  if (ended_at === null) return "in use";
  return kept_until === null ? "deleted" : `kept until ${formatMoment(kept_until)}`;
}
