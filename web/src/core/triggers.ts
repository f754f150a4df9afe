/** What starts a flow of a repository, in words. */

export type TriggerKind = "push" | "schedule" | "webhook" | "card_complete" | "manual";
export type TriggerWords = { kind: TriggerKind; text: string; isEnabled: boolean };

type Trigger = Record<string, unknown>;

const PROVIDERS: Record<string, string> = { github: "GitHub", gitlab: "GitLab", gitea: "Gitea" };

/** One line for each trigger of a flow; a flow without any can only be started by a user. */
export function describeTriggers(triggers: Readonly<Record<string, unknown>>): TriggerWords[] {
  const { push, schedule, webhook, card_complete: card, manual } = triggers;
  const found: TriggerWords[] = [];
  const add = (kind: TriggerKind, trigger: unknown, describe: (trigger: Trigger) => string) => {
    if (!isTrigger(trigger)) return;
    found.push({ kind, text: describe(trigger), isEnabled: trigger.enabled !== false });
  };
  add("push", push, describePush);
  for (const each of Array.isArray(schedule) ? schedule : []) add("schedule", each, describeSchedule);
  add("webhook", webhook, describeWebhook);
  add("card_complete", card, ({ status }) => `a card reaches ${String(status ?? "in_review").replaceAll("_", " ")}`);
  add("manual", manual, () => "manual start");
  return found.length > 0 ? found : [{ kind: "manual", text: "manual start only", isEnabled: true }];
}

function describePush(push: Trigger): string {
  const { branches, tags, paths } = {
    branches: texts(push.branches),
    tags: texts(push.tags),
    paths: texts(push.paths),
  };
  const where = [
    branches.length > 0 ? `to ${isEverything(branches) ? "any branch" : patterns(branches)}` : "",
    tags.length > 0 ? `of ${isEverything(tags) ? "any tag" : `tag ${patterns(tags)}`}` : "",
  ].filter(Boolean);
  const changes = paths.length > 0 && !isEverything(paths) ? ` that changes ${patterns(paths)}` : "";
  return `push ${where.join(" or ") || "to any branch"}${changes}`;
}

function describeSchedule({ cron, timezone }: Trigger): string {
  return `schedule ${String(cron)} (${String(timezone ?? "UTC")})`;
}

function describeWebhook({ provider, events }: Trigger): string {
  const named = texts(events);
  const by = PROVIDERS[String(provider)];
  return `${by === undefined ? "webhook" : `${by} webhook`}${named.length > 0 ? `: ${named.join(", ")}` : ""}`;
}

/** Patterns as a sentence has them: "main, release/** except release/old". */
function patterns(list: readonly string[]): string {
  const wanted = list.filter((each) => !each.startsWith("!"));
  const unwanted = list.filter((each) => each.startsWith("!")).map((each) => each.slice(1));
  const named = isEverything(wanted) ? "anything" : wanted.join(", ");
  return unwanted.length > 0 ? `${named} except ${unwanted.join(", ")}` : named;
}

function isEverything(list: readonly string[]): boolean {
  return list.length === 1 && list[0] === "**";
}

function isTrigger(value: unknown): value is Trigger {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
