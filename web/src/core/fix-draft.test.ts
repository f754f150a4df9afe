import { expect, test } from "vitest";
import { fixProblems, fixRequest, NEW_FIX, secretsText, stepsToFix } from "@/core/fix-draft";

const DRAFT = { ...NEW_FIX, step: "unit" };
const run = (failures: string[], steps: [path: string, kind: string][]) => ({
  status: "failed",
  failures: failures.map((step) => ({ step })),
  flow_info: { steps: steps.map(([path, kind]) => ({ path, kind })) },
});

test("a draft asks for a loop with what was entered, and leaves the rest to the server", () => {
  expect(fixRequest(DRAFT)).toEqual({
    fix: { step: "unit", options: { agent: "claude", iterations: 3, secrets: ["ANTHROPIC_API_KEY"] } },
  });
  const whole = { ...DRAFT, agent: " mine ", fix: "codex", goal: " Round once. ", cost: "2.5", secrets: "A, B  A" };
  expect(fixRequest(whole).fix.options).toEqual({
    agent: "mine",
    fix: "codex",
    goal: "Round once.",
    iterations: 3,
    cost: 2.5,
    secrets: ["A", "B"],
  });
});

test("the secrets are the keys of the agents that work, until others are entered", () => {
  expect(secretsText({ ...DRAFT, agent: "codex" })).toBe("OPENAI_API_KEY");
  expect(secretsText({ ...DRAFT, diagnose: "gemini" })).toBe("GEMINI_API_KEY, ANTHROPIC_API_KEY");
  expect(secretsText({ ...DRAFT, diagnose: "codex", fix: "mine" })).toBe("OPENAI_API_KEY");
  expect(secretsText({ ...DRAFT, agent: "codex", secrets: "" })).toBe("");
});

test("what the server would refuse is said before", () => {
  expect(fixProblems(DRAFT)).toEqual({});
  expect(Object.keys(fixProblems({ ...DRAFT, agent: " ", iterations: "11", cost: "0" }))).toEqual([
    "agent",
    "iterations",
    "cost",
  ]);
  for (const iterations of ["", "0", "1.5", "x"])
    expect(fixProblems({ ...DRAFT, iterations })).toHaveProperty("iterations");
});

test("a loop is started on a step that failed, on the one of a test, or on the loop that it is in", () => {
  const steps: [string, string][] = [
    ["unit", "run"],
    ["e2e", "fix"],
    ["e2e.test", "run"],
  ];
  expect(stepsToFix(run(["unit", "e2e.test", "unit"], steps))).toEqual(["unit", "e2e"]);
  expect(stepsToFix(run(["e2e"], steps), "unit")).toEqual(["unit", "e2e"]);
  expect(stepsToFix(run(["unit+run"], steps))).toEqual(["unit"]);
  expect(stepsToFix(run([], steps))).toEqual(["unit", "e2e", "e2e.test"]);
});
