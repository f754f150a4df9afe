/** A fix loop as it is being set up for a failed run: the fields of the form, and the request that they make. */

import { plannedPath } from "@/core/addresses";

export type FixDraft = {
  step: string;
  agent: string;
  /** The agents of the two roles; empty for `agent`. */
  diagnose: string;
  fix: string;
  goal: string;
  iterations: string;
  cost: string;
  /** Names with commas; null for those that the agents are known to need. */
  secrets: string | null;
};

export const NEW_FIX: Omit<FixDraft, "step"> = {
  agent: "claude",
  diagnose: "",
  fix: "",
  goal: "",
  iterations: "3",
  cost: "",
  secrets: null,
};

export const LONGEST_GOAL = 8_000;
const MOST_ITERATIONS = 10;

/** The key that each agent usually has. */
const KEYS: Readonly<Record<string, string>> = {
  claude: "ANTHROPIC_API_KEY",
  codex: "OPENAI_API_KEY",
  gemini: "GEMINI_API_KEY",
  opencode: "ANTHROPIC_API_KEY",
  aider: "ANTHROPIC_API_KEY",
};

/** The secrets of the form: those that were entered, else the keys of the agents that will work. */
export function secretsText({ agent, diagnose, fix, secrets }: FixDraft): string {
  if (secrets !== null) return secrets;
  const agents = [diagnose, fix].map((role) => role.trim() || agent.trim());
  return [...new Set(agents.flatMap((each) => KEYS[each] ?? []))].join(", ");
}

function namesIn(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}

type FixableRun = {
  status: string;
  failures: readonly { step: string }[];
  flow_info: { steps: readonly { path: string; kind: string }[] };
};

/** Whether a fix loop can be started for the run. */
export function canBeFixed({ status }: Pick<FixableRun, "status">): boolean {
  return status === "failed" || status === "timed_out";
}

/** The steps that a fix loop can be started on: those that failed, and first the one that it is asked for. */
export function stepsToFix({ failures, flow_info }: FixableRun, asked?: string): string[] {
  const failed = failures.map(({ step }) => step);
  const found = (asked === undefined ? failed : [asked, ...failed]).map((step) => loopOf(flow_info.steps, step));
  const paths = found.length > 0 ? found : flow_info.steps.map(({ path }) => path);
  return [...new Set(paths)];
}

/** The fix loop that a step is in; the step itself if it is in none. */
function loopOf(steps: FixableRun["flow_info"]["steps"], step: string): string {
  const path = plannedPath(step);
  return steps.find((each) => each.kind === "fix" && path.startsWith(`${each.path}.`))?.path ?? path;
}

/** The fields that keep a draft from being sent, each with what is wrong. */
export function fixProblems({ agent, iterations, cost }: FixDraft): Partial<Record<keyof FixDraft, string>> {
  const problems: Partial<Record<keyof FixDraft, string>> = {};
  if (agent.trim() === "") problems.agent = "Enter the profile of an agent.";
  if (!/^\d+$/.test(iterations.trim()) || Number(iterations) < 1 || Number(iterations) > MOST_ITERATIONS)
    problems.iterations = `Enter a number from 1 to ${MOST_ITERATIONS}.`;
  if (cost.trim() !== "" && !(Number(cost) > 0)) problems.cost = "Enter an amount above 0.";
  return problems;
}

/** The request that a draft makes: a run again, with a fix loop around the step. */
export function fixRequest(draft: FixDraft) {
  const texts = { diagnose: draft.diagnose.trim(), fix: draft.fix.trim(), goal: draft.goal.trim() };
  const secrets = namesIn(secretsText(draft));
  const options = {
    agent: draft.agent.trim(),
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== "")),
    iterations: Number(draft.iterations),
    ...(draft.cost.trim() === "" ? {} : { cost: Number(draft.cost) }),
    ...(secrets.length === 0 ? {} : { secrets }),
  };
  return { fix: { step: draft.step, options } };
}
