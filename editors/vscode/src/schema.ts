/** The JSON Schema of flow files, for the YAML extension: as the installed Pitstop has it. */

import { execFile } from "node:child_process";
import * as vscode from "vscode";

import { pitstopCommand } from "./adapter";
import { isFlow } from "./flow-text";

const SCHEME = "pitstop-flow";
const SCHEMA = `${SCHEME}://schema/flow.json`;

type YamlExtension = {
  registerContributor(
    scheme: string,
    requestSchema: (resource: string) => string | undefined,
    requestSchemaContent: (uri: string) => string,
  ): boolean;
};

/** Tell the YAML extension, if it is there, which files are flows. */
export async function associateSchema(): Promise<boolean> {
  const extension = vscode.extensions.getExtension<YamlExtension>("redhat.vscode-yaml");
  if (extension === undefined) return false;
  const [yaml, schema] = await Promise.all([extension.activate(), readSchema()]);
  return schema !== undefined && yaml.registerContributor(SCHEME, schemaOf, () => schema);
}

function schemaOf(resource: string): string | undefined {
  const document = vscode.workspace.textDocuments.find((each) => each.uri.toString() === resource);
  return document !== undefined && isFlow(document.getText()) ? SCHEMA : undefined;
}

function readSchema(): Promise<string | undefined> {
  const [program, ...rest] = pitstopCommand(vscode.workspace.workspaceFolders?.[0]);
  return new Promise((resolve) => {
    execFile(program, [...rest, "schema"], { timeout: 120_000, maxBuffer: 2 ** 24 }, (error, stdout) =>
      resolve(error === null ? stdout : undefined),
    );
  });
}
