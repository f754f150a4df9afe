import { expect, test } from "vitest";
import { type CardDraft, draftOf, NEW_DRAFT, problemsOf, readInput, requestOf, withLabels } from "@/core/card-draft";

const draft = (changes: Partial<CardDraft>): CardDraft => ({ ...NEW_DRAFT, title: "Fix login", ...changes });

test("a request has the fields of its kind of work only", () => {
  const all = { agent: "codex", prompt: "be brief", cost: "2.5", image: "alpine", script: "make", flow: "ci" };
  expect(requestOf(draft(all)).work).toEqual({
    agent: "codex",
    prompt: "be brief",
    cli: null,
    model: null,
    image: "alpine",
    budget: { cost: 2.5 },
  });
  expect(requestOf(draft({ ...all, choice: "script" })).work).toEqual({ run: "make" });
  expect(requestOf(draft({ ...all, choice: "image" })).work).toEqual({ run: "make", image: "alpine" });
  expect(requestOf(draft({ ...all, choice: "flow" })).work).toEqual({ flow: "ci", inputs: {} });
  expect(requestOf(draft({ ...all, choice: "none" })).work).toEqual({});
  expect(requestOf(draft({ title: " Fix login ", base: " " }))).toMatchObject({ title: "Fix login", base: null });
});

test("a card that is edited makes the same card again, with limits that have no field", () => {
  const work_details = {
    agent: "claude",
    prompt: "",
    cli: null,
    model: "opus",
    budget: { cost: 2, turns: 40 },
    run: null,
    image: null,
    flow: null,
    inputs: {},
  };
  const edited = draftOf({ title: "Fix login", description: "…", base: "main", labels: ["ui"], work_details });
  expect(edited).toMatchObject({ choice: "agent", model: "opus", cost: "2", labels: ["ui"] });
  expect(requestOf(edited).work).toMatchObject({ agent: "claude", model: "opus", budget: { cost: 2, turns: 40 } });

  const inputs = { count: 3, version: "3", name: "x", on: true, list: [1] };
  const flow = draftOf({ title: "T", description: "", base: "main", labels: [], work_details: { flow: "ci", inputs } });
  expect(requestOf(flow).work).toEqual({ flow: "ci", inputs });
  expect(draftOf({ title: "T", description: "", base: "main", labels: [], work_details: {} }).choice).toBe("none");
  const image = { run: "make", image: "alpine" };
  expect(draftOf({ title: "T", description: "", base: "main", labels: [], work_details: image }).choice).toBe("image");
});

test("what is missing is told by field, for the chosen kind of work only", () => {
  expect(problemsOf(draft({}))).toEqual({});
  expect(Object.keys(problemsOf(draft({ title: " ", agent: " ", cost: "free" })))).toEqual(["title", "agent", "cost"]);
  expect(Object.keys(problemsOf(draft({ choice: "image" })))).toEqual(["image", "script"]);
  expect(Object.keys(problemsOf(draft({ choice: "script", agent: "" })))).toEqual(["script"]);
  expect(Object.keys(problemsOf(draft({ choice: "flow" })))).toEqual(["flow"]);
  expect(problemsOf(draft({ choice: "none", agent: "" }))).toEqual({});
  const twice = [
    { name: "a", value: "1" },
    { name: "a ", value: "2" },
  ];
  expect(problemsOf(draft({ choice: "flow", flow: "ci", inputs: twice }))).toHaveProperty("inputs");
  expect(problemsOf(draft({ title: "🦊".repeat(200) }))).toEqual({});
  expect(problemsOf(draft({ title: "a".repeat(201) }))).toHaveProperty("title");
});

test("an input is JSON where it looks like it, else the text", () => {
  expect(["3", "-1.5", "true", "null", "[1]", '{"a":1}', '"3"'].map(readInput)).toEqual([
    3,
    -1.5,
    true,
    null,
    [1],
    { a: 1 },
    "3",
  ]);
  expect(["main", "1.2.3", "trueish", "{no", "", "10 apples"].map(readInput)).toEqual([
    "main",
    "1.2.3",
    "trueish",
    "{no",
    "",
    "10 apples",
  ]);
});

test("labels are separated by commas; one that is still being typed counts", () => {
  expect(withLabels(["docs"], " ui, backend,,ui ")).toEqual(["docs", "ui", "backend"]);
  expect(requestOf(draft({ labels: ["ui"], label: "backend" })).labels).toEqual(["ui", "backend"]);
});
