/** Goes on in Python: a session of the Python debugger beside ours, which ends with it. */

import * as vscode from "vscode";

export type PythonPlace = { host: string; port: number };

/** One session for each place: the nodes of a graph are all in one process, whose debugger stays where it is. */
export class PythonSessions {
  private readonly attached = new Map<string, string>(); // the name of the session, by the place it is attached to

  async enter(parent: vscode.DebugSession, place: PythonPlace): Promise<boolean> {
    const key = `${place.host}:${place.port}`;
    if (this.attached.has(key)) return true;
    const name = `Python of ${parent.name} (${place.port})`;
    this.attached.set(key, name);
    const config: vscode.DebugConfiguration = {
      type: "debugpy",
      request: "attach",
      name,
      connect: { host: place.host, port: place.port },
      justMyCode: true,
    };
    const options = { parentSession: parent, compact: true };
    const isStarted = await vscode.debug.startDebugging(parent.workspaceFolder, config, options);
    if (!isStarted) this.attached.delete(key);
    return isStarted;
  }

  leave(session: vscode.DebugSession): void {
    for (const [key, name] of this.attached) if (name === session.name) this.attached.delete(key);
  }
}
