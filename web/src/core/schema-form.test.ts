import { expect, test } from "vitest";
import { fieldsOf, readForm, type Schema } from "@/core/schema-form";

const schema: Schema = {
  required: ["script"],
  properties: {
    shell: { anyOf: [{ type: "string" }, { type: "null" }], default: null, description: "Which shell." },
    script: { type: "string" },
    times: { type: "integer", default: 1 },
    quiet: { type: "boolean", default: false },
    env: { type: "object", default: {} },
    method: { enum: ["GET", "POST"], default: "GET" },
  },
};

test("what is needed comes first, and each type has its field", () => {
  expect(fieldsOf(schema).map(({ name, kind }) => [name, kind])).toEqual([
    ["script", "long"],
    ["shell", "text"],
    ["times", "number"],
    ["quiet", "switch"],
    ["env", "json"],
    ["method", "choice"],
  ]);
});

test("only what was changed is in the value, as the type wants it", () => {
  const { value, problems } = readForm(fieldsOf(schema), {
    script: "ls",
    times: "3",
    quiet: "true",
    env: '{"A": "1"}',
    method: "GET",
  });
  expect(value).toEqual({ script: "ls", times: 3, quiet: true, env: { A: "1" } });
  expect(problems).toEqual({});
});

test("what cannot be is told at its field", () => {
  expect(readForm(fieldsOf(schema), { times: "many", env: "{" }).problems).toEqual({
    script: "Required.",
    times: "Not a number.",
    env: "Invalid JSON.",
  });
});

test("a template is taken as it is written", () => {
  const text = "$" + "{{ .vars.times }}";
  expect(readForm(fieldsOf(schema), { script: "ls", times: text }).value.times).toBe(text);
});
