/** Writes the types of the server's JSON from its OpenAPI document: `node dev/generate-types.mjs FROM TO [--check]`. */

import { readFileSync, writeFileSync } from "node:fs";

const [from, to, option] = process.argv.slice(2);
const { components } = JSON.parse(readFileSync(from, "utf8"));

function typeOf(schema, indent) {
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((each) => JSON.stringify(each)).join(" | ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return [...new Set(choices.map((each) => typeOf(each, indent)))].join(" | ");
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type }, indent)).join(" | ");
  switch (schema.type) {
    case "string":
      return "string";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "null":
      return "null";
    case "array":
      return arrayOf(schema, indent);
    case "object":
      return objectOf(schema, indent);
    default:
      return "unknown";
  }
}

function arrayOf(schema, indent) {
  if (schema.prefixItems) return `[${schema.prefixItems.map((each) => typeOf(each, indent)).join(", ")}]`;
  const item = typeOf(schema.items ?? {}, indent);
  return /^[\w"]+$/.test(item) ? `${item}[]` : `(${item})[]`;
}

function objectOf(schema, indent) {
  if (!schema.properties) {
    const value =
      typeof schema.additionalProperties === "object" ? typeOf(schema.additionalProperties, indent) : "unknown";
    return `Record<string, ${value}>`;
  }
  const required = new Set(schema.required);
  const inner = `${indent}  `;
  const lines = Object.entries(schema.properties).map(([name, property]) => {
    const comment = property.description ? `${inner}/** ${oneLine(property.description)} */\n` : "";
    const key = /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
    return `${comment}${inner}${key}${required.has(name) ? "" : "?"}: ${typeOf(property, inner)};`;
  });
  return `{\n${lines.join("\n")}\n${indent}}`;
}

function oneLine(text) {
  return text.replace(/\s+/g, " ").replaceAll("*/", "* /").trim();
}

const written = Object.entries(components.schemas)
  .sort(([one], [other]) => (one < other ? -1 : 1))
  .map(([name, schema]) => {
    const comment = schema.description ? `/** ${oneLine(schema.description)} */\n` : "";
    return `${comment}export type ${name} = ${typeOf(schema, "")};\n`;
  });
const text = `// Written by \`npm run types\` from docs/reference/openapi.json: do not edit.\n\n${written.join("\n")}`;

if (option === "--check") {
  if (readFileSync(to, "utf8") !== text) {
    console.error(`${to} is stale: run \`npm run types\``);
    process.exit(1);
  }
} else {
  writeFileSync(to, text);
}
