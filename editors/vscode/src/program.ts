/** Finds the program that starts Pitstop, before VS Code tries to and says nothing. */

import { accessSync, constants } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import * as vscode from "vscode";

import { pitstopCommand } from "./adapter";

const SETTING = "pitstop.command";

/** Whether Pitstop can be started; if not, an error message says what to do. */
export function checkProgram(folder: vscode.WorkspaceFolder | undefined): boolean {
  const [program] = pitstopCommand(folder);
  if (isProgram(program, folder?.uri.fsPath ?? ".")) return true;
  void tellMissing(program);
  return false;
}

function isProgram(program: string, cwd: string): boolean {
  if (program.includes("/")) return isExecutable(resolve(cwd, program));
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => isExecutable(join(folder, program)));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function tellMissing(program: string): Promise<void> {
  const open = "Open settings";
  const told = `Cannot start Pitstop: there is no program ${program}. Install it, or set ${SETTING}.`;
  if ((await vscode.window.showErrorMessage(told, open)) === open) {
    await vscode.commands.executeCommand("workbench.action.openSettings", SETTING);
  }
}
