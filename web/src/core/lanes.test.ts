import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { RunEvent, StepInjected } from "@/core/events";
import { type Box, type LaneStep, layOut } from "@/core/lanes";
import { fold } from "@/core/run-view";

function recorded(name: string) {
  const file = join(import.meta.dirname, `../../../tests/events/streams/${name}.json`);
  const { flow_info, events } = JSON.parse(readFileSync(file, "utf8")) as {
    flow_info: { steps: LaneStep[] };
    events: RunEvent[];
  };
  const view = fold(events);
  const shape = { occurrences: view.steps.keys(), frames: view.frames, injected: view.injected };
  return { steps: flow_info.steps, shape };
}

const NOTHING = { occurrences: [], frames: new Map(), injected: [] };
const step = (path: string, parent: string | null = null, kind = "run"): LaneStep => ({
  path,
  kind,
  title: path,
  parent,
  is_cleanup: false,
});
const byId = (boxes: Box[]) => new Map(boxes.map((box) => [box.id, box]));

test("steps stand one below the other, branches side by side inside the step that opens them", () => {
  const { steps, shape } = recorded("passed");
  const boxes = byId(layOut(steps, shape, new Set()).boxes);
  const box = (id: string) => boxes.get(id) as Box;

  expect(box("checks").y).toBeGreaterThan(box("build").y);
  expect(box("checks.unit").y).toBe(box("checks.lint").y);
  expect(box("checks.lint").x).toBeGreaterThan(box("checks.unit").x + box("checks.unit").width);
  expect(box("checks.unit").frame).toBe("checks.unit");
  expect(box("tidy").isCleanup).toBe(true);
});

test("every combination of a matrix is a lane with the name of its frame; a loop shows its last turn", () => {
  const { steps, shape } = recorded("combinations");
  const boxes = byId(layOut(steps, shape, new Set()).boxes);

  expect(boxes.get("tests[3]")?.title).toBe("python=3.13, db=postgres");
  expect(boxes.get("tests[3].setup")?.path).toBe("tests.setup");
  expect(boxes.get("poll")?.turns).toBe(3);
  expect(boxes.has("poll[2].ask")).toBe(true);
  expect(boxes.has("poll[1].ask")).toBe(false);
});

test("an injected step stands beside its host", () => {
  const { steps, shape } = recorded("rewound");
  const boxes = byId(layOut(steps, shape, new Set()).boxes);

  expect(boxes.get("package+1")?.isInjected).toBe(true);
  expect(boxes.get("package+1")?.y).toBeLessThan(boxes.get("package")?.y ?? 0);
});

test("a step that was injected before a branch is in the lane of that branch", () => {
  const steps = [step("p", null, "parallel"), step("p.a", "p"), step("p.b", "p")];
  const injected = { kind: "debug.step_injected", step: "p.b+1", occurrence: "p.b", position: "before", type: "run" };
  const boxes = byId(layOut(steps, { ...NOTHING, injected: [injected as StepInjected] }, new Set()).boxes);

  expect(boxes.get("p.b+1")?.x).toBe(boxes.get("p.b")?.x);
  expect(boxes.get("p.b+1")?.y).toBeLessThan(boxes.get("p.b")?.y ?? 0);
});

test("a step that was tried again shows its last attempt", () => {
  const { steps, shape } = recorded("repaired");
  const release = layOut(steps, shape, new Set()).boxes.find((box) => box.path === "release");

  expect([release?.attempt, release?.occurrence]).toEqual([2, "release#2"]);
});

test("a collapsed step hides what is in it and says how much that is", () => {
  const steps = [step("p", null, "parallel"), step("p.a", "p"), step("p.b", "p")];
  const { boxes } = layOut(steps, NOTHING, new Set(["p"]));

  expect(boxes.map((box) => box.id)).toEqual(["p"]);
  expect(boxes[0]).toMatchObject({ isCollapsed: true, inside: 2 });
});

test("no two boxes overlap unless one is inside the other", () => {
  for (const name of ["passed", "combinations", "rewound"]) {
    const { steps, shape } = recorded(name);
    const { boxes } = layOut(steps, shape, new Set());
    const contains = (outer: Box, inner: Box) =>
      outer.x <= inner.x &&
      outer.y <= inner.y &&
      outer.x + outer.width >= inner.x + inner.width &&
      outer.y + outer.height >= inner.y + inner.height;
    for (const one of boxes) {
      for (const other of boxes) {
        if (one === other || contains(one, other) || contains(other, one)) continue;
        const apart =
          one.x + one.width <= other.x ||
          other.x + other.width <= one.x ||
          one.y + one.height <= other.y ||
          other.y + other.height <= one.y;
        expect(apart, `${one.id} and ${other.id}`).toBe(true);
      }
    }
  }
});

test("many lanes are laid out in rows, not in one endless line", () => {
  const steps = [step("m", null, "matrix"), ...Array.from({ length: 20 }, (_, at) => step(`m.s${at}`, "m"))];
  const occurrences = Array.from({ length: 100 }, (_, lane) => `m[${lane}].s0`);
  const layout = layOut(steps, { ...NOTHING, occurrences }, new Set());

  expect(layout.boxes.length).toBe(1 + 100 + 2000);
  expect(layout.width / layout.height).toBeLessThan(4);
  expect(layout.width / layout.height).toBeGreaterThan(0.5);
});

test("a step that was injected before a call of an agent stands below the agent, by its own address", () => {
  const { steps, shape } = recorded("agent");
  const boxes = byId(layOut(steps, shape, new Set()).boxes);
  const injected = boxes.get("fix/4+1");

  expect(injected?.isInjected).toBe(true);
  expect(injected?.occurrence).toBe("fix/4+1");
  expect(injected?.y).toBeGreaterThan(boxes.get("fix")?.y ?? 0);
  expect(injected?.y).toBeLessThan(boxes.get("check")?.y ?? 0);
});

test("a fix loop shows the steps of its last iteration; before the first there is none", () => {
  const steps = [
    step("tests", null, "fix"),
    ...["test", "diagnose", "fix"].map((each) => step(`tests.${each}`, "tests")),
  ];
  const occurrences = ["tests", "tests[0].test", "tests[1].diagnose", "tests[2].diagnose"];
  const boxes = byId(layOut(steps, { ...NOTHING, occurrences }, new Set()).boxes);

  expect([...boxes.keys()].sort()).toEqual(["tests", "tests[2].diagnose", "tests[2].fix", "tests[2].test"].sort());
  expect(boxes.get("tests")?.turns).toBe(2);
});
