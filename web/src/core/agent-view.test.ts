import { expect, test } from "vitest";
import { AgentView, commandIn, formatCost, formatTokens, nameOfCall, titleOfCall } from "@/core/agent-view";

type Told = readonly [note: string, data: Record<string, unknown>];

function agent(...told: Told[]): AgentView {
  const view = new AgentView();
  told.forEach(([note, data], index) => {
    view.apply({ number: index + 1, note, data });
  });
  return view;
}

const shell = (call: string, command: string): Told => [
  "agent.called",
  {
    call,
    command,
    name: "Bash",
    tool: "shell",
    input: { command },
    paths: [],
    parent: call.includes("/") ? call.slice(0, call.lastIndexOf("/")) : null,
  },
];

test("the conversation is what was said and called, with all that a subagent did below its call", () => {
  const view = agent(
    ["agent.started", { profile: "claude", model: "m", session: "s" }],
    ["agent.said", { text: "I look.", parent: null }],
    shell("1", "task"),
    shell("2", "ls"),
    shell("1/1", "grep"),
    ["agent.said", { text: "found", parent: "1" }],
  );

  expect(view.rows().map((row) => [row.depth, row.kind === "said" ? row.text : row.call.call])).toEqual([
    [0, "I look."],
    [0, "1"],
    [1, "1/1"],
    [1, "found"],
    [0, "2"],
  ]);
  expect([view.profile, view.model, view.session, view.status]).toEqual(["claude", "m", "s", null]);
});

test("a call runs, is edited, returns, fails or is refused", () => {
  const view = agent(
    shell("1", "ls"),
    shell("2", "rm -rf build"),
    shell("3", "exit 3"),
    shell("4", "sleep 9"),
    ["agent.edited", { call: "1", input: { command: "ls -a" } }],
    ["agent.returned", { call: "1", ok: true, output: "a" }],
    ["agent.refused", { call: "2", reason: "use make clean", by: "user" }],
    ["agent.returned", { call: "3", ok: false, output: "exit code 3" }],
    ["agent.returned", { call: "99", ok: true, output: "of no call" }],
    ["agent.mooed", {}],
  );
  const calls = [...view.calls.values()];

  expect(calls.map(({ state, output }) => [state, output])).toEqual([
    ["ok", "a"],
    ["refused", "use make clean"],
    ["failed", "exit code 3"],
    ["running", null],
  ]);
  expect(calls[0]?.edited).toEqual({ command: "ls -a" });
  expect(calls[1]?.refusedBy).toBe("user");
  expect(calls[0] && commandIn(calls[0], calls[0].edited ?? {})).toBe("ls -a");
});

test("a call that changed is another object, and the others are the same", () => {
  const view = agent(shell("1", "ls"), shell("2", "cat"));
  const [first, second] = [view.calls.get("1"), view.calls.get("2")];
  view.apply({ number: 3, note: "agent.returned", data: { call: "2", ok: true, output: "" } });

  expect(view.calls.get("1")).toBe(first);
  expect(view.calls.get("2")).not.toBe(second);
});

test("an agent that ended says what it has used", () => {
  const tokens = { in: 48_210, out: 1820, cached: 41_000 };
  const view = agent(["agent.ended", { status: "passed", turns: 5, cost: 0.1834, tokens, session: "s" }]);

  expect([view.status, view.turns, formatCost(view.cost ?? 0)]).toEqual(["passed", 5, "$0.18"]);
  expect(view.tokens && formatTokens(view.tokens)).toBe("48k tokens in, 1.8k out, 41k cached");
  expect(agent(["agent.ended", { status: "failed", turns: 0, cost: null, tokens: null }]).tokens).toBeNull();
});

test("a call is named by what it is about, and by its class and number", () => {
  const call = { name: "Glob", input: { limit: 3, pattern: "*.py" }, paths: [], command: null };
  expect(titleOfCall(call)).toBe("*.py");
  expect(titleOfCall({ ...call, paths: ["a.py", "b.py"] })).toBe("a.py, b.py");
  expect(titleOfCall({ ...call, command: "ls\n  -a" })).toBe("ls -a");
  expect(titleOfCall({ ...call, input: {} })).toBe("Glob");
  expect(nameOfCall("3", { tool: "shell", name: "Bash" })).toBe("shell call 3");
  expect(nameOfCall("3", { tool: "other", name: "Todo" })).toBe("Todo call 3");
  expect(nameOfCall("3", null)).toBe("call 3");
});
