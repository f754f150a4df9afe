/** What is shown in the source of a flow besides its text: breakpoints, stops and failures, by line. */

import { type Extension, RangeSet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, GutterMarker, gutter, WidgetType } from "@codemirror/view";

export type LineMark = "on" | "conditional" | "log" | "off";

export type SourceMarks = {
  breakpoints: ReadonlyMap<number, LineMark>;
  stops: readonly { line: number; isActive: boolean }[];
  failures: readonly { line: number; endLine: number; text: string }[];
};

export const NO_MARKS: SourceMarks = { breakpoints: new Map(), stops: [], failures: [] };

const setMarks = StateEffect.define<SourceMarks>();

const marksField = StateField.define<SourceMarks>({
  create: () => NO_MARKS,
  update: (marks, transaction) =>
    transaction.effects.reduce((now, effect) => (effect.is(setMarks) ? effect.value : now), marks),
  provide: (field) => EditorView.decorations.compute([field], (state) => decorate(state.doc, state.field(field))),
});

function decorate(
  text: { lines: number; line: (number: number) => { from: number; to: number } },
  marks: SourceMarks,
): DecorationSet {
  const decorations = [];
  for (const { line, isActive } of marks.stops) {
    if (line > text.lines) continue;
    decorations.push(
      Decoration.line({ class: isActive ? "cm-stopped-active" : "cm-stopped" }).range(text.line(line).from),
    );
  }
  for (const { line, endLine, text: told } of marks.failures) {
    if (line > text.lines) continue;
    decorations.push(Decoration.line({ class: "cm-failed" }).range(text.line(line).from));
    const after = text.line(Math.min(endLine, text.lines)).to;
    decorations.push(Decoration.widget({ widget: new ErrorNote(told), block: true, side: 1 }).range(after));
  }
  return Decoration.set(decorations, true);
}

class ErrorNote extends WidgetType {
  constructor(readonly told: string) {
    super();
  }

  override eq(other: ErrorNote): boolean {
    return other.told === this.told;
  }

  toDOM(): HTMLElement {
    const note = document.createElement("div");
    note.className = "cm-error-note";
    note.appendChild(document.createElement("div")).textContent = this.told;
    return note;
  }
}

const SHAPES: Record<LineMark, string> = {
  on: "background: var(--breakpoint); border-radius: 50%",
  conditional:
    "background: linear-gradient(90deg, var(--breakpoint) 50%, transparent 50%); border: 1.5px solid var(--breakpoint); border-radius: 50%",
  log: "border: 1.5px solid var(--breakpoint); transform: rotate(45deg)",
  off: "background: var(--line-strong); border-radius: 50%",
};

class BreakpointMarker extends GutterMarker {
  constructor(readonly mark: LineMark) {
    super();
  }

  override eq(other: BreakpointMarker): boolean {
    return other.mark === this.mark;
  }

  override toDOM(): Node {
    const dot = document.createElement("span");
    dot.style.cssText = `width: 9px; height: 9px; display: inline-block; ${SHAPES[this.mark]}`;
    dot.dataset.mark = this.mark;
    return dot;
  }
}

export type GutterActions = { onToggle: (line: number) => void; onEdit: (line: number) => void };

export function breakpointGutter(actions: () => GutterActions): Extension {
  return [
    marksField,
    gutter({
      class: "cm-breakpoints",
      renderEmptyElements: true, // else only lines that have a mark could be clicked
      markers: (view) => {
        const { breakpoints } = view.state.field(marksField);
        const shown = [...breakpoints]
          .filter(([line]) => line <= view.state.doc.lines)
          .sort(([one], [other]) => one - other)
          .map(([line, mark]) => new BreakpointMarker(mark).range(view.state.doc.line(line).from));
        return RangeSet.of(shown);
      },
      lineMarkerChange: (update) =>
        update.transactions.some((each) => each.effects.some((effect) => effect.is(setMarks))),
      domEventHandlers: {
        mousedown: (view, line, event) => {
          if ((event as MouseEvent).button === 0) actions().onToggle(view.state.doc.lineAt(line.from).number);
          return true;
        },
        contextmenu: (view, line, event) => {
          event.preventDefault();
          actions().onEdit(view.state.doc.lineAt(line.from).number);
          return true;
        },
      },
    }),
  ];
}

export function showMarks(view: EditorView, marks: SourceMarks): void {
  view.dispatch({ effects: setMarks.of(marks) });
}
