/** Starts `pitstop dap`, as the settings say it is started. */

import * as vscode from "vscode";

export class AdapterFactory implements vscode.DebugAdapterDescriptorFactory {
  createDebugAdapterDescriptor(session: vscode.DebugSession): vscode.DebugAdapterDescriptor {
    const port: unknown = session.configuration["debugServer"];
    if (typeof port === "number") return new vscode.DebugAdapterServer(port);
    const [program, ...rest] = pitstopCommand(session.workspaceFolder);
    const cwd = session.workspaceFolder?.uri.fsPath;
    return new vscode.DebugAdapterExecutable(program, [...rest, "dap"], cwd === undefined ? {} : { cwd });
  }
}

/** The words that start Pitstop, with the folder put in. */
export function pitstopCommand(folder: vscode.WorkspaceFolder | undefined): [string, ...string[]] {
  const words = vscode.workspace.getConfiguration("pitstop", folder?.uri).get<string[]>("command", ["pitstop"]);
  const [program = "pitstop", ...rest] = words.map((word) =>
    word.replaceAll("${workspaceFolder}", folder?.uri.fsPath ?? "."),
  );
  return [program, ...rest];
}
