/** "Debug this flow" above the steps of a flow. */

import * as vscode from "vscode";

import { isFlow, stepsLine } from "./flow-text";

export class FlowLenses implements vscode.CodeLensProvider {
  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const text = document.getText();
    if (!isFlow(text)) return [];
    const line = stepsLine(text);
    const range = new vscode.Range(line, 0, line, 0);
    return [
      new vscode.CodeLens(range, { title: "Debug this flow", command: "pitstop.debugFlow", arguments: [document.uri] }),
      new vscode.CodeLens(range, { title: "Run", command: "pitstop.runFlow", arguments: [document.uri] }),
    ];
  }
}
