import { expect, test } from "vitest";
import {
  defaultSaveName,
  NEW_TRIAL,
  type TrialDraft,
  trialDraftOf,
  trialProblems,
  trialRequest,
  withProfile,
} from "@/core/trial-draft";

const draft = (changes: Partial<TrialDraft> = {}): TrialDraft => ({ ...NEW_TRIAL, prompt: "Repair it", ...changes });

test("a new draft lacks only its prompt", () => {
  expect(trialProblems(NEW_TRIAL)).toEqual({ prompt: "Enter a prompt." });
  expect(trialProblems(draft())).toEqual({});
});

test("each field that cannot be sent says what is wrong", () => {
  const wrong = draft({
    prompt: "x".repeat(100_001),
    profiles: [],
    input: "file",
    path: " ",
    cost: "-1",
    time: "soon",
    isSaved: true,
    save: "a/b",
  });
  expect(Object.keys(trialProblems(wrong)).sort()).toEqual(["cost", "path", "profiles", "prompt", "save", "time"]);
  expect(trialProblems(draft({ cost: "0.5", time: "1h30m", isSaved: true, save: "" }))).toEqual({});
});

test("a request has only what was entered", () => {
  expect(trialRequest("till", draft())).toEqual({
    repo: "till",
    ref: null,
    profiles: ["claude"],
    prompt: "Repair it",
    budget: {},
    model: null,
    save: null,
    debug: false,
    input: "branch",
    path: null,
  });
  const whole = draft({
    ref: " dev ",
    cost: "2",
    time: "20m",
    limits: { turns: 9 },
    isSaved: true,
    input: "text",
    path: "a",
  });
  expect(trialRequest("till", whole)).toMatchObject({
    ref: "dev",
    budget: { turns: 9, cost: 2, time: "20m" },
    save: "claude",
    input: "text",
    path: null,
  });
});

test("a draft of a trial makes the same request again", () => {
  const before = draft({
    ref: "dev",
    profiles: ["codex"],
    input: "file",
    path: "a.txt",
    model: "m",
    cost: "2",
    time: "20m",
    limits: { turns: 9 },
    isSaved: true,
    save: "it",
    isDebugged: true,
  });
  const { profiles, prompt, repo, ...settings } = trialRequest("till", before);
  expect(trialDraftOf({ prompt, profile: "codex", settings })).toEqual(before);
});

test("several agents are saved under a neutral name, and at most four are chosen", () => {
  expect(defaultSaveName({ profiles: ["codex"] })).toBe("codex");
  expect(defaultSaveName({ profiles: ["codex", "claude"] })).toBe("trial");
  expect(withProfile(["a"], "a")).toEqual([]);
  expect(withProfile(["a", "b", "c", "d"], "e")).toEqual(["a", "b", "c", "d"]);
});
