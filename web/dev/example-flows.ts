/** Flows that exist only here: very many steps, a very long log, and what the pretended steps write. */

import type { FlowInfo, StepInfo } from "../src/api/types.ts";

function stepInfo(path: string, more: Partial<StepInfo>): StepInfo {
  return {
    path,
    kind: "run",
    title: path.split(".").at(-1) ?? path,
    id: path.split(".").at(-1) ?? null,
    parent: null,
    file: null,
    line: null,
    column: 1,
    end_line: null,
    condition: null,
    is_cleanup: false,
    detail: "",
    goes_on_after_failure: false,
    retries: 0,
    ...more,
  };
}

export function manySteps(lanes: number, steps: number): FlowInfo {
  const file = "many-steps.yaml";
  const inner = Array.from({ length: steps - 1 }, (_, at) =>
    stepInfo(`shards.test_${at + 1}`, {
      parent: "shards",
      file,
      line: 6 + at * 2,
      end_line: 7 + at * 2,
      detail: `pytest --part ${at + 1}`,
    }),
  );
  return {
    name: "many-steps",
    file,
    inputs: [],
    warnings: [],
    secrets: [],
    steps: [
      stepInfo("prepare", { file, line: 3, end_line: 4, detail: "make prepare" }),
      stepInfo("shards", { kind: "matrix", file, line: 5, end_line: 6 + steps * 2, detail: `${lanes} shards` }),
      ...inner,
      stepInfo("report", { file, line: 8 + steps * 2, end_line: 9 + steps * 2, detail: "make report" }),
    ],
  };
}

export function longLog(): FlowInfo {
  return {
    name: "long-log",
    file: "long-log.yaml",
    inputs: [
      { name: "lines", type: "number", is_required: false, default: 200000, description: "How many lines are written" },
    ],
    warnings: [],
    secrets: [],
    steps: [stepInfo("noise", { file: "long-log.yaml", line: 3, end_line: 4, detail: "yes | head -200000" })],
  };
}

export function sourceOf(flow: FlowInfo): string {
  const lines: string[] = [`name: ${flow.name}`, "steps:"];
  for (const step of flow.steps) {
    while (lines.length < (step.line ?? 1) - 1) lines.push("");
    lines.push(
      `${step.parent ? "      " : "  "}- id: ${step.id}`,
      `${step.parent ? "      " : "  "}  run: ${step.detail}`,
    );
  }
  return `${lines.join("\n")}\n`;
}

export function* linesOf(flow: string, path: string): Iterable<string> {
  if (flow === "long-log") {
    for (let line = 1; line <= 200_000; line++)
      yield `\u001b[90m${String(line).padStart(6)}\u001b[0m building module ${line % 977} of the shop ${line % 5000 === 0 ? "\u001b[31merror: flaky mirror\u001b[0m" : "\u001b[32mok\u001b[0m"}`;
    return;
  }
  yield `\u001b[1m$ ${path}\u001b[0m`;
  for (let line = 1; line <= 12; line++)
    yield `\u001b[36m[${line}/12]\u001b[0m compiling part ${line} \u001b[32mok\u001b[0m`;
  if (path === "release" && flow === "shop-broken") yield "\u001b[31merror:\u001b[0m no such region: sotuh";
}

export function testsOf(flow: string) {
  return [
    {
      step: "checks.unit",
      suite: "shop.prices",
      name: "test_total_has_tax",
      status: "passed",
      seconds: 0.012,
      message: "",
      change: "",
    },
    {
      step: "checks.unit",
      suite: "shop.prices",
      name: "test_rounding",
      status: flow === "shop-broken" ? "failed" : "passed",
      seconds: 0.034,
      message: flow === "shop-broken" ? "AssertionError: 118.99 != 119.00" : "",
      change: flow === "shop-broken" ? "new" : "fixed",
    },
    {
      step: "checks.unit",
      suite: "shop.cart",
      name: "test_empty_cart",
      status: "skipped",
      seconds: 0,
      message: "no network",
      change: "",
    },
  ];
}
