import { useState } from "react";
import { repoApi } from "@/api/repo-client";
import type { HookInfo, HookProvider, RepoFlowInfo } from "@/api/types";
import { deliveryScript, ENTERING, PROVIDERS } from "@/core/webhooks";
import { hookUrl } from "@/features/repos/commands";
import { Button } from "@/ui/button";
import { CommandLine } from "@/ui/command-line";
import { Dialog } from "@/ui/dialog";
import { Notice } from "@/ui/feedback";
import { Field, Select } from "@/ui/field";
import { FormDialog } from "@/ui/form-dialog";

type NewHookDialogProps = {
  repo: string;
  flows: readonly RepoFlowInfo[];
  onCreated: () => void;
  onClose: () => void;
};

/** A new webhook: who sends to it, and then its address and its secret, which is shown only here. */
export function NewHookDialog({ repo, flows, onCreated, onClose }: NewHookDialogProps) {
  const [made, setMade] = useState<HookInfo | null>(null);
  if (made) return <Made hook={made} onClose={onClose} />;
  return (
    <Creating
      repo={repo}
      flows={flows}
      onMade={(hook) => {
        setMade(hook);
        onCreated();
      }}
      onClose={onClose}
    />
  );
}

type CreatingProps = {
  repo: string;
  flows: readonly RepoFlowInfo[];
  onMade: (hook: HookInfo) => void;
  onClose: () => void;
};

function Creating({ repo, flows, onMade, onClose }: CreatingProps) {
  const [provider, setProvider] = useState<HookProvider>("github");
  const [flow, setFlow] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const create = async () => {
    setBusy(true);
    try {
      onMade(await repoApi.addHook(repo, { provider, flow: flow || null }));
    } catch (error) {
      setProblem((error as Error).message);
      setBusy(false);
    }
  };
  return (
    <FormDialog
      title="Create a webhook"
      action="Create webhook"
      isBusy={isBusy}
      onSubmit={() => void create()}
      onClose={onClose}
    >
      <Field label="Sent by" problem={problem}>
        {(ids) => (
          <Select
            {...ids}
            autoFocus
            value={provider}
            onChange={(event) => setProvider(event.target.value as HookProvider)}
          >
            {Object.entries(PROVIDERS).map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field
        label="Flow"
        hint={
          <>
            A flow starts if its <code className="font-mono">on: webhook</code> trigger matches the sender and the
            event.
          </>
        }
      >
        {(ids) => (
          <Select {...ids} value={flow} onChange={(event) => setFlow(event.target.value)}>
            <option value="">All flows</option>
            {flows.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </Select>
        )}
      </Field>
    </FormDialog>
  );
}

function Made({ hook, onClose }: { hook: HookInfo; onClose: () => void }) {
  const url = hookUrl(hook.path);
  const [isConfirmed, setConfirmed] = useState(false);
  return (
    <Dialog
      title="Webhook created"
      isOpen
      width={560}
      onClose={() => (isConfirmed ? onClose() : setConfirmed(true))}
      footer={
        <Button look="primary" onClick={onClose}>
          Done, I have stored the secret
        </Button>
      }
    >
      <div className="space-y-3">
        <div className="overflow-hidden rounded-md">
          <Notice tone="paused">
            {isConfirmed
              ? "Closing this dialog hides the secret for good. Close it again if you have stored it."
              : "The secret is shown only now. If you lose it, create another webhook."}
          </Notice>
        </div>
        <CommandLine label="URL" command={url} what="the URL" />
        {hook.secret !== null && <CommandLine label="Secret" command={hook.secret} what="the secret" />}
        <section>
          <h3 className="mb-1 font-medium">
            {hook.provider === "plain" ? "Send deliveries" : `Enter it at ${PROVIDERS[hook.provider]}`}
          </h3>
          <ol className="list-decimal space-y-0.5 pl-5 text-muted">
            {ENTERING[hook.provider].map((step) => (
              <li key={step}>{step}</li>
            ))}
          </ol>
          {hook.provider === "plain" && (
            <pre className="mt-2 whitespace-pre-wrap break-words rounded-md bg-sunken p-2 font-mono text-sm">
              {deliveryScript(url)}
            </pre>
          )}
        </section>
      </div>
    </Dialog>
  );
}
