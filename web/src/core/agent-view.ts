/** An agent at work, as the notes of its step tell it: what it said, and which tools it called. */

export type CallState = "running" | "ok" | "failed" | "refused";

/** A tool call. Replaced, never changed, so that `===` tells whether it is the same. */
export type AgentCall = {
  /** `3`, or `3/1` for the first call of a subagent that call 3 started. */
  readonly call: string;
  readonly name: string;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly paths: readonly string[];
  readonly command: string | null;
  readonly parent: string | null;
  readonly state: CallState;
  /** The input that it was made with, if a user changed it. */
  readonly edited: Readonly<Record<string, unknown>> | null;
  /** The result; of a refused call, what the agent was told instead. */
  readonly output: string | null;
  readonly refusedBy: string | null;
};

export type AgentTokens = { in: number; out: number; cached: number };

type Said = { readonly kind: "said"; readonly id: number; readonly text: string; readonly parent: string | null };
type Called = { readonly kind: "called"; readonly id: number; readonly call: string; readonly parent: string | null };
export type AgentItem = Said | Called;

/** A line of the conversation: what is said or called in a subagent has a depth of its own. */
export type AgentRow = { readonly id: number; readonly depth: number } & (
  | { readonly kind: "said"; readonly text: string }
  | { readonly kind: "called"; readonly call: AgentCall }
);

type Note = { number: number; note: string; data: Record<string, unknown> };

/** It grows with each note; unknown notes change nothing. */
export class AgentView {
  profile: string | null = null;
  model: string | null = null;
  session: string | null = null;
  status: string | null = null; // once it has ended
  turns: number | null = null;
  cost: number | null = null; // US dollars
  tokens: AgentTokens | null = null;
  calls = new Map<string, AgentCall>();
  items: AgentItem[] = [];

  apply({ number, note, data }: Note): void {
    switch (note) {
      case "agent.started":
        this.profile = textOf(data.profile);
        this.model = textOf(data.model);
        this.session = textOf(data.session);
        break;
      case "agent.said":
        this.items.push({ kind: "said", id: number, text: textOf(data.text) ?? "", parent: textOf(data.parent) });
        break;
      case "agent.called":
        this.#open(number, data);
        break;
      case "agent.edited":
        this.#change(data.call, { edited: objectOf(data.input) });
        break;
      case "agent.returned":
        this.#change(data.call, { state: data.ok === true ? "ok" : "failed", output: textOf(data.output) });
        break;
      case "agent.refused":
        this.#change(data.call, { state: "refused", output: textOf(data.reason), refusedBy: textOf(data.by) });
        break;
      case "agent.ended":
        this.status = textOf(data.status);
        this.turns = numberOf(data.turns);
        this.cost = numberOf(data.cost);
        this.tokens = data.tokens === null ? null : tokensOf(objectOf(data.tokens));
        this.session = textOf(data.session) ?? this.session;
        break;
    }
  }

  #open(number: number, data: Record<string, unknown>): void {
    const call = textOf(data.call) ?? "";
    const parent = textOf(data.parent);
    this.calls.set(call, {
      call,
      parent,
      name: textOf(data.name) ?? "",
      tool: textOf(data.tool) ?? "other",
      input: objectOf(data.input),
      paths: Array.isArray(data.paths) ? data.paths.map(String) : [],
      command: textOf(data.command),
      state: "running",
      edited: null,
      output: null,
      refusedBy: null,
    });
    this.items.push({ kind: "called", id: number, call, parent });
  }

  #change(call: unknown, change: Partial<AgentCall>): void {
    const known = this.calls.get(String(call));
    if (known) this.calls.set(known.call, { ...known, ...change });
  }

  /** The conversation in its order, with all that a subagent did right below the call that started it. */
  rows(): AgentRow[] {
    const inside = new Map<string | null, AgentItem[]>();
    for (const item of this.items) {
      const parent = item.parent !== null && this.calls.has(item.parent) ? item.parent : null;
      const siblings = inside.get(parent);
      if (siblings) siblings.push(item);
      else inside.set(parent, [item]);
    }
    const rows: AgentRow[] = [];
    const add = (parent: string | null, depth: number) => {
      for (const item of inside.get(parent) ?? []) {
        const { id } = item;
        if (item.kind === "said") {
          rows.push({ kind: "said", id, depth, text: item.text });
          continue;
        }
        const call = this.calls.get(item.call);
        if (call) rows.push({ kind: "called", id, depth, call });
        add(item.call, depth + 1);
      }
    };
    add(null, 0);
    return rows;
  }
}

/** A call in one line: what it is about, or its name if it is about nothing. */
export function titleOfCall({
  name,
  input,
  paths,
  command,
}: Pick<AgentCall, "name" | "input" | "paths" | "command">): string {
  const about = command || paths.join(", ") || Object.values(input).find((value) => typeof value === "string");
  return (
    String(about ?? "")
      .trim()
      .replace(/\s+/g, " ") || name
  );
}

/** A call by its kind and number: "shell call 3". A tool of no known class goes by its name. */
export function nameOfCall(call: string, known: { tool: string; name: string } | null | undefined): string {
  if (!known) return `call ${call}`;
  return `${known.tool === "other" ? known.name : known.tool} call ${call}`;
}

/** The command in another input of the same call: it is in the same field. */
export function commandIn({ command, input }: AgentCall, edited: AgentCall["input"]): string | null {
  const field = Object.keys(input).find((name) => command !== null && input[name] === command);
  return field === undefined ? null : textOf(edited[field]);
}

export function formatCost(dollars: number): string {
  return `$${dollars.toFixed(dollars < 0.1 ? 3 : 2)}`;
}

export function formatTokens({ in: sent, out, cached }: AgentTokens): string {
  const told = `${shortNumber(sent)} tokens in, ${shortNumber(out)} out`;
  return cached > 0 ? `${told}, ${shortNumber(cached)} cached` : told;
}

function shortNumber(value: number): string {
  return value < 1000 ? `${value}` : `${(value / 1000).toFixed(value < 10_000 ? 1 : 0)}k`;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function tokensOf(value: Record<string, unknown>): AgentTokens {
  return { in: numberOf(value.in) ?? 0, out: numberOf(value.out) ?? 0, cached: numberOf(value.cached) ?? 0 };
}
