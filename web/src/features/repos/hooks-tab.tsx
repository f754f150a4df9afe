import { Plus, Trash2, Webhook } from "lucide-react";
import { useState } from "react";
import { repoApi } from "@/api/repo-client";
import { useHooks, useRepoFlows } from "@/api/repo-queries";
import type { Connection } from "@/api/sse";
import type { HookInfo, RepoFlowInfo, RepoInfo } from "@/api/types";
import { listeningFlows, PROVIDERS } from "@/core/webhooks";
import { hookUrl } from "@/features/repos/commands";
import { HookDeliveries } from "@/features/repos/hook-deliveries";
import { NewHookDialog } from "@/features/repos/new-hook-dialog";
import { useChange } from "@/features/repos/use-change";
import { Ago } from "@/ui/ago";
import { Button, IconButton } from "@/ui/button";
import { CommandLine } from "@/ui/command-line";
import { Confirm } from "@/ui/dialog";
import { Empty, Failed, Loading } from "@/ui/feedback";
import { useNow } from "@/ui/hooks";
import { Badge } from "@/ui/status-icon";
import { Switch } from "@/ui/switch";
import { toast } from "@/ui/toast";

type HooksTabProps = { repo: RepoInfo; connection: Connection };

/** The webhooks of a repository: who may start its flows from outside, and what was delivered. */
export function HooksTab({ repo, connection }: HooksTabProps) {
  const hooks = useHooks(repo.id);
  const flows = useRepoFlows(repo.id).data ?? [];
  const now = useNow(true, 30_000);
  const change = useChange(repo.id);
  const [isCreating, setCreating] = useState(false);
  const [removing, setRemoving] = useState<HookInfo | null>(null);
  if (hooks.error && !hooks.data) return <Failed error={hooks.error} onRetry={() => hooks.refetch()} />;
  if (!hooks.data) return <Loading label="Loading webhooks" />;
  const create = (
    <Button icon={<Plus className="size-3.5" />} onClick={() => setCreating(true)}>
      Create a webhook
    </Button>
  );
  const remove = async (hook: HookInfo) => {
    if (await change(() => repoApi.removeHook(repo.id, hook.id))) toast("Deleted the webhook", "good");
  };
  return (
    <div className="space-y-3">
      {hooks.data.length === 0 ? (
        <Empty icon={<Webhook className="size-6" />} title="No webhooks yet" action={create}>
          With a webhook, GitHub, GitLab, Gitea or your own script starts the flows that have an{" "}
          <code className="font-mono text-sm">on: webhook</code> trigger on {repo.default_branch}.
        </Empty>
      ) : (
        <>
          {create}
          <ul aria-label="Webhooks" className="space-y-3">
            {hooks.data.map((hook) => (
              <li key={hook.id}>
                <Hook
                  hook={hook}
                  repo={repo}
                  flows={flows}
                  now={now}
                  connection={connection}
                  onEnable={(enabled) => void change(() => repoApi.enableHook(repo.id, hook.id, enabled))}
                  onRemove={() => setRemoving(hook)}
                />
              </li>
            ))}
          </ul>
        </>
      )}
      {isCreating && (
        <NewHookDialog
          repo={repo.id}
          flows={flows}
          onCreated={() => void hooks.refetch()}
          onClose={() => setCreating(false)}
        />
      )}
      <Confirm
        title="Delete this webhook?"
        text="Its sender can no longer deliver to it, and its deliveries are deleted. This cannot be undone."
        action="Delete webhook"
        isOpen={removing !== null}
        onClose={() => setRemoving(null)}
        onConfirm={() => removing && void remove(removing)}
      />
    </div>
  );
}

type HookProps = {
  hook: HookInfo;
  repo: RepoInfo;
  flows: readonly RepoFlowInfo[];
  now: number;
  connection: Connection;
  onEnable: (isOn: boolean) => void;
  onRemove: () => void;
};

function Hook({ hook, repo, flows, now, connection, onEnable, onRemove }: HookProps) {
  const [isOpen, setOpen] = useState(false);
  const name = PROVIDERS[hook.provider];
  const target = hook.flow ?? "all flows";
  return (
    <article
      aria-label={`Webhook of ${name} for ${target}`}
      className="overflow-hidden rounded-lg border border-line bg-surface"
    >
      <div className="flex flex-wrap items-start gap-x-3 gap-y-2 px-4 py-3">
        <div className="min-w-0 flex-1 basis-72 space-y-1">
          <h2 className="flex min-h-6 flex-wrap items-center gap-x-2">
            <span className="font-medium">{name}</span>
            <span className="text-muted">for {target}</span>
            {!hook.enabled && <Badge>disabled</Badge>}
          </h2>
          <Listening hook={hook} repo={repo} flows={flows} />
          <p className="text-muted text-sm">
            {hook.last_at === null ? (
              "nothing delivered yet"
            ) : (
              <>
                last delivery <Ago at={hook.last_at} now={now} />
              </>
            )}
          </p>
        </div>
        <div className="flex items-center gap-1.5">
          <Button size="sm" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? "Hide deliveries" : "Show deliveries"}
          </Button>
          <IconButton size="sm" label="Delete webhook…" onClick={onRemove}>
            <Trash2 className="size-3.5" />
          </IconButton>
          <Switch label={hook.enabled ? "Disable webhook" : "Enable webhook"} isOn={hook.enabled} onChange={onEnable} />
        </div>
        <CommandLine label="URL" command={hookUrl(hook.path)} what="the URL" className="basis-full" />
      </div>
      {isOpen && (
        <div className="border-line border-t px-4 py-3">
          <HookDeliveries hook={hook} now={now} connection={connection} />
        </div>
      )}
    </article>
  );
}

/** Which flows can start, or that none can. */
function Listening({ hook, repo, flows }: Pick<HookProps, "hook" | "repo" | "flows">) {
  const listening = listeningFlows(hook, flows);
  if (listening.length > 0) return <p className="text-muted text-sm">starts {listening.join(", ")}</p>;
  return (
    <p className="text-paused text-sm">
      starts nothing: {hook.flow ?? "no flow"} on {repo.default_branch} has {hook.flow === null ? "an" : "no"}{" "}
      <code className="font-mono">on: webhook</code> trigger with{" "}
      <code className="font-mono">provider: {hook.provider}</code>
    </p>
  );
}
