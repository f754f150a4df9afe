/** Goes on in Python: a session of the Python debugger beside ours, which ends with it. */

import * as vscode from "vscode";

export type PythonPlace = { host: string; port: number };

export function startPythonSession(parent: vscode.DebugSession, place: PythonPlace): Thenable<boolean> {
  const config: vscode.DebugConfiguration = {
    type: "debugpy",
    request: "attach",
    name: `Python of ${parent.name}`,
    connect: { host: place.host, port: place.port },
    justMyCode: true,
  };
  return vscode.debug.startDebugging(parent.workspaceFolder, config, { parentSession: parent, compact: true });
}
