/** A JSON Schema as the fields of a form, and what was put into them as a value. */

export type Schema = {
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  $ref?: string;
  $defs?: Record<string, Schema>;
};

export type FormField = {
  name: string;
  label: string;
  hint: string;
  isRequired: boolean;
  initial: string;
} & (
  | { kind: "text" | "secret" | "long" | "number" | "json" }
  | { kind: "choice"; choices: string[] }
  | { kind: "switch" }
);

const LONG = new Set(["script", "content", "body", "stdin", "prompt", "text", "command"]);

export function fieldsOf(schema: Schema): FormField[] {
  const required = new Set(schema.required);
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) =>
    fieldOf(name, resolve(property, schema), property, required.has(name)),
  );
  return [...fields.filter((field) => field.isRequired), ...fields.filter((field) => !field.isRequired)];
}

function fieldOf(name: string, schema: Schema, written: Schema, isRequired: boolean): FormField {
  const value = written.default ?? schema.default;
  const common = {
    name,
    label: name.replaceAll("_", " "),
    hint: written.description ?? schema.description ?? "",
    isRequired,
  };
  const types = typesOf(schema);
  const choices = choicesOf(schema);
  if (choices)
    return { ...common, kind: "choice", choices, initial: value === undefined || value === null ? "" : String(value) };
  if (types.size === 1 && types.has("boolean")) return { ...common, kind: "switch", initial: String(value ?? false) };
  if (types.size === 1 && (types.has("number") || types.has("integer"))) {
    return { ...common, kind: "number", initial: value === undefined || value === null ? "" : String(value) };
  }
  const isText = types.has("string") && !types.has("object") && !types.has("array");
  if (isText || (types.has("string") && typeof value === "string")) {
    return { ...common, kind: LONG.has(name) ? "long" : "text", initial: typeof value === "string" ? value : "" };
  }
  return { ...common, kind: "json", initial: value === undefined || value === null ? "" : JSON.stringify(value) };
}

function resolve(schema: Schema, root: Schema): Schema {
  const name = schema.$ref?.replace("#/$defs/", "");
  return name ? (root.$defs?.[name] ?? schema) : schema;
}

function typesOf(schema: Schema): Set<string> {
  const own = schema.type === undefined ? [] : Array.isArray(schema.type) ? schema.type : [schema.type];
  const inner = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap((each) => [...typesOf(each)]);
  return new Set([...own, ...inner].filter((type) => type !== "null"));
}

function choicesOf(schema: Schema): string[] | null {
  if (schema.enum) return schema.enum.map(String);
  const inner = schema.anyOf?.find((each) => each.enum);
  return inner?.enum && schema.anyOf?.every((each) => each.enum || each.type === "null")
    ? inner.enum.map(String)
    : null;
}

/** What was put in, without what was left as it is; the problem by field where it cannot be. */
export function readForm(
  fields: readonly FormField[],
  texts: Readonly<Record<string, string>>,
): { value: Record<string, unknown>; problems: Record<string, string> } {
  const value: Record<string, unknown> = {};
  const problems: Record<string, string> = {};
  for (const field of fields) {
    const text = texts[field.name] ?? field.initial;
    if (text === "" && field.isRequired) problems[field.name] = "Required.";
    if (text === "" || (text === field.initial && !field.isRequired)) continue;
    try {
      value[field.name] = read(field, text);
    } catch {
      problems[field.name] = field.kind === "number" ? "Not a number." : "Invalid JSON.";
    }
  }
  return { value, problems };
}

function read(field: FormField, text: string): unknown {
  if (text.includes("${{")) return text; // a template can stand for anything
  switch (field.kind) {
    case "switch":
      return text === "true";
    case "number": {
      const number = Number(text);
      if (Number.isNaN(number)) throw new Error("not a number");
      return number;
    }
    case "json":
      return JSON.parse(text);
    default:
      return text;
  }
}
