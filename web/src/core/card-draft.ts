/** A card as it is being written: texts of fields, and the request that they make. */

export type WorkChoice = "agent" | "script" | "image" | "flow" | "none";

export type DraftInput = { name: string; value: string };

export type CardDraft = {
  title: string;
  description: string;
  choice: WorkChoice;
  agent: string;
  prompt: string;
  cli: string;
  model: string;
  cost: string;
  /** Limits of the agent that have no field of their own. */
  limits: Readonly<Record<string, unknown>>;
  image: string;
  script: string;
  flow: string;
  inputs: readonly DraftInput[];
  base: string;
  labels: readonly string[];
  /** A label that is being typed. */
  label: string;
};

/** The agents that need no profile in the repository. */
export const AGENTS = ["claude", "codex", "gemini", "opencode", "aider"] as const;

export const LONGEST_TITLE = 200;

export const CHOICES: Record<WorkChoice, { label: string; hint: string }> = {
  agent: { label: "Agent", hint: "An agent works on the description." },
  script: { label: "Script", hint: "A script changes the files of the branch." },
  image: { label: "Image + script", hint: "A script runs in a container." },
  flow: { label: "Flow", hint: "A flow of the repository runs on the branch." },
  none: { label: "By hand", hint: "Nothing runs: people do the work and move the card." },
};

export const NEW_DRAFT: CardDraft = {
  title: "",
  description: "",
  choice: "agent",
  agent: "claude",
  prompt: "",
  cli: "",
  model: "",
  cost: "",
  limits: {},
  image: "",
  script: "",
  flow: "",
  inputs: [],
  base: "",
  labels: [],
  label: "",
};

type Work = {
  agent: string | null;
  prompt: string;
  cli: string | null;
  model: string | null;
  budget: Record<string, unknown>;
  run: string | null;
  image: string | null;
  flow: string | null;
  inputs: Record<string, unknown>;
};

type Card = {
  title: string;
  description: string;
  base: string;
  labels: readonly string[];
  work_details: Partial<Work>;
};

/** The draft that makes the same card again. */
export function draftOf({ title, description, base, labels, work_details: work }: Card): CardDraft {
  const { cost, ...limits } = work.budget ?? {};
  return {
    title,
    description,
    choice: choiceOf(work),
    agent: work.agent ?? NEW_DRAFT.agent,
    prompt: work.prompt ?? "",
    cli: work.cli ?? "",
    model: work.model ?? "",
    cost: cost === undefined || cost === null ? "" : String(cost),
    limits,
    image: work.image ?? "",
    script: work.run ?? "",
    flow: work.flow ?? "",
    inputs: Object.entries(work.inputs ?? {}).map(([name, value]) => ({ name, value: textOf(value) })),
    base,
    labels,
    label: "",
  };
}

function choiceOf({ agent, run, image, flow }: Partial<Work>): WorkChoice {
  if (typeof agent === "string") return "agent";
  if (typeof run === "string") return image ? "image" : "script";
  return typeof flow === "string" ? "flow" : "none";
}

/** The fields that keep a draft from being sent, each with what is wrong. */
export function problemsOf(draft: CardDraft): Partial<Record<keyof CardDraft, string>> {
  const problems: Partial<Record<keyof CardDraft, string>> = {};
  const title = draft.title.trim();
  if (title === "") problems.title = "Enter a title.";
  else if ([...title].length > LONGEST_TITLE) problems.title = `Use at most ${LONGEST_TITLE} characters.`;
  switch (draft.choice) {
    case "agent":
      if (draft.agent.trim() === "") problems.agent = "Enter the profile of an agent.";
      if (draft.cost.trim() !== "" && !(Number(draft.cost) > 0)) problems.cost = "Enter an amount above 0.";
      break;
    case "image":
      if (draft.image.trim() === "") problems.image = "Enter an image.";
      if (draft.script.trim() === "") problems.script = "Enter a script.";
      break;
    case "script":
      if (draft.script.trim() === "") problems.script = "Enter a script.";
      break;
    case "flow":
      if (draft.flow === "") problems.flow = "Choose a flow.";
      if (hasTwice(draft.inputs)) problems.inputs = "Two inputs have the same name.";
      break;
    case "none":
      break;
  }
  return problems;
}

function hasTwice(inputs: readonly DraftInput[]): boolean {
  const names = inputs.map(({ name }) => name.trim()).filter(Boolean);
  return new Set(names).size < names.length;
}

/** The work in a request: only the fields of its kind. */
export function workOf(draft: CardDraft) {
  const image = draft.image.trim();
  switch (draft.choice) {
    case "agent":
      return {
        agent: draft.agent.trim(),
        prompt: draft.prompt,
        cli: draft.cli.trim() || null,
        model: draft.model.trim() || null,
        image: image || null,
        budget: { ...draft.limits, ...(draft.cost.trim() === "" ? {} : { cost: Number(draft.cost) }) },
      };
    case "script":
      return { run: draft.script };
    case "image":
      return { run: draft.script, image };
    case "flow": {
      const named = draft.inputs.filter(({ name }) => name.trim() !== "");
      return {
        flow: draft.flow,
        inputs: Object.fromEntries(named.map(({ name, value }) => [name.trim(), readInput(value)])),
      };
    }
    case "none":
      return {};
  }
}

/** The request that a draft makes. Without a base it is the default branch. */
export function requestOf(draft: CardDraft) {
  return {
    title: draft.title.trim(),
    description: draft.description,
    work: workOf(draft),
    base: draft.base.trim() || null,
    labels: withLabels(draft.labels, draft.label),
  };
}

/** An input as it was meant: a number, true, false, null, a list or an object as JSON, else the text itself. */
export function readInput(text: string): unknown {
  if (!/^\s*(-?\d|true|false|null|\[|\{|")/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The text that `readInput` reads as the same value. */
function textOf(value: unknown): string {
  return typeof value === "string" && readInput(value) === value ? value : JSON.stringify(value);
}

/** Labels with those in a text, where commas separate them; each once. */
export function withLabels(labels: readonly string[], text: string): string[] {
  return [...new Set([...labels, ...text.split(",").map((each) => each.trim())])].filter(Boolean);
}
