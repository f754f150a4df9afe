/** Puts the parts of the extension together. */

import * as vscode from "vscode";

import { AdapterFactory } from "./adapter";
import { ConfigurationProvider, launch } from "./configuration";
import { isFlow } from "./flow-text";
import { LastRun, type StepEnd } from "./last-run";
import { FlowLenses } from "./lenses";
import { PythonSessions, type PythonPlace } from "./python";
import { associateSchema } from "./schema";

export function activate(context: vscode.ExtensionContext): void {
  const lastRun = new LastRun();
  const python = new PythonSessions();
  const configurations = new ConfigurationProvider();
  context.subscriptions.push(
    lastRun,
    vscode.debug.registerDebugAdapterDescriptorFactory("pitstop", new AdapterFactory()),
    vscode.debug.registerDebugConfigurationProvider("pitstop", configurations),
    vscode.debug.registerDebugConfigurationProvider(
      "pitstop",
      configurations,
      vscode.DebugConfigurationProviderTriggerKind.Dynamic,
    ),
    vscode.languages.registerCodeLensProvider({ language: "yaml" }, new FlowLenses()),
    vscode.commands.registerCommand("pitstop.debugFlow", (uri?: vscode.Uri) => start(uri, false)),
    vscode.commands.registerCommand("pitstop.runFlow", (uri?: vscode.Uri) => start(uri, true)),
    vscode.commands.registerCommand("pitstop.openShell", openShell),
    vscode.debug.onDidStartDebugSession((session) => session.type === "pitstop" && lastRun.begin()),
    vscode.debug.onDidTerminateDebugSession((session) => python.leave(session)),
    vscode.debug.onDidReceiveDebugSessionCustomEvent((event) => hear(event, lastRun, python)),
    vscode.window.onDidChangeVisibleTextEditors(() => lastRun.show()),
    vscode.window.onDidChangeActiveTextEditor(noteFlow),
    vscode.workspace.onDidChangeTextDocument(() => {
      lastRun.show();
      noteFlow();
    }),
  );
  noteFlow();
  void associateSchema();
}

export function deactivate(): void {}

function hear(event: vscode.DebugSessionCustomEvent, lastRun: LastRun, python: PythonSessions): void {
  if (event.session.type !== "pitstop") return;
  if (event.event === "pitstop/step") lastRun.take(event.body as StepEnd);
  if (event.event === "pitstop/python") void python.enter(event.session, event.body as PythonPlace);
}

async function start(uri: vscode.Uri | undefined, noDebug: boolean): Promise<void> {
  const target = uri ?? vscode.window.activeTextEditor?.document.uri;
  if (target === undefined) return;
  const folder = vscode.workspace.getWorkspaceFolder(target);
  const name = noDebug ? "Run this flow" : "Debug this flow";
  await vscode.debug.startDebugging(folder, launch(name, target.fsPath), { noDebug });
}

/** A terminal where the paused step works: the adapter asks VS Code to open it. */
async function openShell(): Promise<void> {
  const session = vscode.debug.activeDebugSession;
  if (session?.type !== "pitstop") return;
  const item = vscode.debug.activeStackItem;
  const frame = item !== undefined && "frameId" in item ? { frameId: item.frameId } : {};
  try {
    await session.customRequest("evaluate", { expression: "shell", context: "repl", ...frame });
  } catch (error) {
    void vscode.window.showErrorMessage(`Cannot open a shell: ${error instanceof Error ? error.message : error}`);
  }
}

/** Show the buttons of a flow only where there is one. */
function noteFlow(): void {
  const document = vscode.window.activeTextEditor?.document;
  const flow = document?.languageId === "yaml" && isFlow(document.getText());
  void vscode.commands.executeCommand("setContext", "pitstop.isFlow", flow);
}
