/** Webhooks: who sends them, how they are entered there, and which flows they start. */

export type Provider = "github" | "gitlab" | "gitea" | "plain";

export const PROVIDERS: Record<Provider, string> = {
  github: "GitHub",
  gitlab: "GitLab",
  gitea: "Gitea or Forgejo",
  plain: "Other sender",
};

/** What is done on the other side, one step after the other. */
export const ENTERING: Record<Provider, readonly string[]> = {
  github: [
    "In the repository, open Settings > Webhooks > Add webhook.",
    "Enter the URL as Payload URL, and the secret as Secret.",
    "Set Content type to application/json.",
    "Choose the events, and save.",
  ],
  gitlab: [
    "In the project, open Settings > Webhooks > Add new webhook.",
    "Enter the URL as URL, and the secret as Secret token.",
    "Choose the events under Trigger, and save.",
  ],
  gitea: [
    "In the repository, open Settings > Webhooks > Add webhook > Gitea (or Forgejo).",
    "Enter the URL as Target URL, and the secret as Secret.",
    "Set POST content type to application/json.",
    "Choose the events, and save.",
  ],
  plain: ["Send a POST request with a JSON body to the URL.", "Sign it with the secret, as this script does:"],
};

/** A script that sends a signed delivery. */
export function deliveryScript(url: string): string {
  return `body='{"version": "1.2"}'
now=$(date +%s)
signature=$(printf '%s.%s' "$now" "$body" | openssl dgst -sha256 -hmac "$SECRET" -r | cut -d ' ' -f 1)
curl -H "X-Pitstop-Event: release" -H "X-Pitstop-Timestamp: $now" \\
  -H "X-Pitstop-Signature-256: sha256=$signature" \\
  -H "Content-Type: application/json" --data "$body" ${url}`;
}

type Flow = { name: string; triggers: Readonly<Record<string, unknown>> };
type Hook = { provider: Provider; flow: string | null };

/** The flows that look at the deliveries of a webhook, each with the events that it wants: "ci (push)". */
export function listeningFlows(hook: Hook, flows: readonly Flow[]): string[] {
  return flows.flatMap(({ name, triggers }) => {
    const trigger = triggers.webhook;
    if (trigger === undefined || (hook.flow !== null && hook.flow !== name)) return [];
    const { provider, events, enabled } = (trigger ?? {}) as { provider?: string; events?: unknown; enabled?: boolean };
    if (enabled === false || (provider ?? "plain") !== hook.provider) return [];
    const wanted = Array.isArray(events) && events.length > 0 ? events.join(", ") : "all events";
    return [`${name} (${wanted})`];
  });
}
