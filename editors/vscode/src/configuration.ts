/** What a launch configuration that says little, or nothing, means. */

import * as vscode from "vscode";

import { isFlow } from "./flow-text";
import { checkProgram } from "./program";

export class ConfigurationProvider implements vscode.DebugConfigurationProvider {
  resolveDebugConfiguration(
    folder: vscode.WorkspaceFolder | undefined,
    given: vscode.DebugConfiguration,
  ): vscode.DebugConfiguration | undefined {
    const isEmpty = !given.type && !given.request && !given.name;
    const config = isEmpty ? this.forOpenFlow() : given;
    if (config === undefined) {
      void vscode.window.showInformationMessage("Open a flow, or set `program` in launch.json.");
      return undefined;
    }
    if (config["debugServer"] === undefined && !checkProgram(folder)) return undefined;
    const cwd = folder === undefined ? {} : { cwd: folder.uri.fsPath };
    return { tellSteps: true, ...(config.request === "launch" ? cwd : {}), ...config };
  }

  provideDebugConfigurations(): vscode.DebugConfiguration[] {
    return [launch("Debug this flow", "${file}")];
  }

  private forOpenFlow(): vscode.DebugConfiguration | undefined {
    const document = vscode.window.activeTextEditor?.document;
    const fits = document !== undefined && document.languageId === "yaml" && isFlow(document.getText());
    return fits ? launch("Debug this flow", document.uri.fsPath) : undefined;
  }
}

export function launch(name: string, program: string): vscode.DebugConfiguration {
  return { type: "pitstop", request: "launch", name, program };
}
