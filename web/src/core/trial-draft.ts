/** A trial as it is being written: the fields of the form, and the request that they make. */

import { MOST_COMPARED, saveName } from "@/core/trials";

export type TrialInput = "branch" | "file" | "text";

export type TrialDraft = {
  prompt: string;
  profiles: readonly string[];
  ref: string;
  input: TrialInput;
  path: string;
  model: string;
  cost: string;
  time: string;
  /** Limits of the agent that have no field of their own. */
  limits: Readonly<Record<string, unknown>>;
  isSaved: boolean;
  save: string;
  isDebugged: boolean;
};

export const NEW_TRIAL: TrialDraft = {
  prompt: "",
  profiles: ["claude"],
  ref: "",
  input: "branch",
  path: "",
  model: "",
  cost: "",
  time: "",
  limits: {},
  isSaved: false,
  save: "",
  isDebugged: false,
};

export const INPUTS: Record<TrialInput, { label: string; hint: string }> = {
  branch: { label: "All files", hint: "The agent can change all files of the branch." },
  file: { label: "One file", hint: "The agent can read all files, but change only this one." },
  text: { label: "Text only", hint: "The agent gets the prompt and no files." },
};

export const LONGEST_PROMPT = 100_000;

type Settings = {
  ref: string | null;
  input: TrialInput;
  path: string | null;
  model: string | null;
  budget: Readonly<Record<string, unknown>>;
  save: string | null;
  debug: boolean;
};

type Trial = { prompt: string; profile: string; settings: Settings };

/** The draft that starts the same trial again. */
export function trialDraftOf({ prompt, profile, settings }: Trial): TrialDraft {
  const { cost, time, ...limits } = settings.budget;
  return {
    prompt,
    profiles: [profile],
    ref: settings.ref ?? "",
    input: settings.input,
    path: settings.path ?? "",
    model: settings.model ?? "",
    cost: textOf(cost),
    time: textOf(time),
    limits,
    isSaved: settings.save !== null,
    save: settings.save ?? "",
    isDebugged: settings.debug,
  };
}

function textOf(value: unknown): string {
  return value === undefined || value === null ? "" : String(value);
}

type Problems = Partial<Record<keyof TrialDraft, string>>;

/** The fields that keep a draft from being tried, each with what is wrong. */
export function trialProblems(draft: TrialDraft): Problems {
  const problems: Problems = {};
  if (draft.prompt.trim() === "") problems.prompt = "Enter a prompt.";
  else if (draft.prompt.length > LONGEST_PROMPT)
    problems.prompt = `Use at most ${LONGEST_PROMPT.toLocaleString("en-US")} characters.`;
  if (draft.profiles.length === 0) problems.profiles = "Choose an agent.";
  if (draft.input === "file" && draft.path.trim() === "") problems.path = "Enter the path of a file.";
  if (draft.cost.trim() !== "" && !(Number(draft.cost) > 0)) problems.cost = "Enter an amount above 0.";
  if (draft.time.trim() !== "" && !/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(draft.time.trim()))
    problems.time = "Enter a time such as 90s or 20m.";
  if (draft.isSaved && draft.save.trim() !== "" && !/^[A-Za-z0-9][A-Za-z0-9-]{0,39}$/.test(draft.save.trim()))
    problems.save = "Use up to 40 letters, digits and dashes.";
  return problems;
}

/** What results are saved as if no name was entered. */
export function defaultSaveName({ profiles }: Pick<TrialDraft, "profiles">): string {
  return saveName(profiles.length === 1 ? (profiles[0] ?? "") : "");
}

/** The request that a draft makes. Without a branch it is the default one. */
export function trialRequest(repo: string, draft: TrialDraft) {
  const [cost, time] = [draft.cost.trim(), draft.time.trim()];
  return {
    repo,
    ref: draft.ref.trim() || null,
    profiles: [...draft.profiles],
    prompt: draft.prompt,
    budget: { ...draft.limits, ...(cost === "" ? {} : { cost: Number(cost) }), ...(time === "" ? {} : { time }) },
    model: draft.model.trim() || null,
    save: draft.isSaved ? draft.save.trim() || defaultSaveName(draft) : null,
    debug: draft.isDebugged,
    input: draft.input,
    path: draft.input === "file" ? draft.path.trim() : null,
  };
}

/** Profiles after a click on one: it comes or goes. At most four can be compared. */
export function withProfile(profiles: readonly string[], profile: string): string[] {
  if (profiles.includes(profile)) return profiles.filter((each) => each !== profile);
  return profiles.length < MOST_COMPARED ? [...profiles, profile] : [...profiles];
}
