/** How each step ended in the last run, beside its line. */

import * as vscode from "vscode";

import { stepLines } from "./flow-text";

export type StepEnd = { path: string; status: string; file?: string; line?: number; seconds?: number; error?: string };

const SIGNS: Record<string, string> = { passed: "✓", failed: "✗", skipped: "–", cancelled: "–", timed_out: "✗" };

/** One line on the end of a step, such as `✓ 0.4 s`. */
export function summary(end: StepEnd): string {
  const sign = SIGNS[end.status] ?? "?";
  const time = end.seconds === undefined ? "" : ` ${end.seconds < 10 ? end.seconds.toFixed(1) : Math.round(end.seconds)} s`;
  const error = end.error === undefined ? "" : ` ${end.error.split("\n", 1)[0]}`;
  return `${sign} ${end.status}${time}${error}`;
}

/** Where the ends belong in a text that may have been edited since: by the id of a step, else by its line. */
export function placed(ends: Iterable<StepEnd>, text: string): Map<number, StepEnd> {
  const lines = new Map(stepLines(text).map((step) => [step.id, step.line]));
  const found = new Map<number, StepEnd>();
  for (const end of ends) {
    const line = lines.get(end.path.split(".").at(-1) ?? "") ?? (end.line === undefined ? undefined : end.line - 1);
    if (line !== undefined) found.set(line, end);
  }
  return found;
}

export class LastRun implements vscode.Disposable {
  private readonly ends = new Map<string, Map<string, StepEnd>>(); // by file, then by path
  private readonly decoration = vscode.window.createTextEditorDecorationType({
    after: { margin: "0 0 0 2em", color: new vscode.ThemeColor("editorCodeLens.foreground") },
  });

  begin(): void {
    this.ends.clear();
    this.show();
  }

  take(end: StepEnd): void {
    if (end.file === undefined) return;
    const ofFile = this.ends.get(end.file) ?? new Map<string, StepEnd>();
    this.ends.set(end.file, ofFile.set(end.path, end));
    this.show();
  }

  show(): void {
    const wanted = vscode.workspace.getConfiguration("pitstop").get("showLastRun", true);
    for (const editor of vscode.window.visibleTextEditors) {
      const ends = wanted ? this.ends.get(editor.document.uri.fsPath) : undefined;
      const shown = placed(ends?.values() ?? [], editor.document.getText());
      editor.setDecorations(
        this.decoration,
        [...shown].map(([line, end]) => ({
          range: new vscode.Range(line, 10_000, line, 10_000),
          renderOptions: { after: { contentText: summary(end) } },
        })),
      );
    }
  }

  dispose(): void {
    this.decoration.dispose();
  }
}
