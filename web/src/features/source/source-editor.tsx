import { defaultKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { editorTheme } from "@/features/source/editor-theme";
import { breakpointGutter, type GutterActions, type SourceMarks, showMarks } from "@/features/source/marks";

type SourceEditorProps = GutterActions & {
  label: string;
  text: string;
  marks: SourceMarks;
  /** The line to bring into view. */
  line: number | null;
  onLine: (line: number) => void;
};

/** A flow's text, to read: a gutter to click breakpoints into, F9 for the line of the cursor. */
export function SourceEditor({ label, text, marks, line, onToggle, onEdit, onLine }: SourceEditorProps) {
  const box = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView | null>(null);
  const actions = useRef({ onToggle, onEdit, onLine });
  actions.current = { onToggle, onEdit, onLine };

  useEffect(() => {
    if (!box.current) return;
    const atCursor = (view: EditorView) => view.state.doc.lineAt(view.state.selection.main.head).number;
    const view = new EditorView({
      parent: box.current,
      state: EditorState.create({
        doc: text,
        extensions: [
          breakpointGutter(() => actions.current),
          lineNumbers(),
          highlightActiveLine(),
          highlightSelectionMatches(),
          yaml(),
          editorTheme,
          EditorState.readOnly.of(true),
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          EditorView.updateListener.of((update) => {
            const isMoved = update.transactions.some((each) => each.isUserEvent("select"));
            if (isMoved) actions.current.onLine(atCursor(update.view));
          }),
          keymap.of([
            {
              key: "F9",
              stopPropagation: true,
              run: (each) => {
                actions.current.onToggle(atCursor(each));
                return true;
              },
            },
            ...searchKeymap,
            ...defaultKeymap,
          ]),
        ],
      }),
    });
    editor.current = view;
    return () => {
      editor.current = null;
      view.destroy();
    };
  }, [text, label]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another text is another editor, which has no marks yet
  useEffect(() => {
    if (editor.current) showMarks(editor.current, marks);
  }, [marks, text]);

  useEffect(() => {
    const view = editor.current;
    if (!view || line === null || line > view.state.doc.lines) return;
    view.dispatch({ effects: EditorView.scrollIntoView(view.state.doc.line(line).from, { y: "center" }) });
  }, [line]);

  return <div ref={box} className="h-full min-h-0 overflow-hidden" />;
}
