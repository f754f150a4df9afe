import { json } from "@codemirror/lang-json";
import { yaml } from "@codemirror/lang-yaml";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { editorTheme } from "@/features/source/editor-theme";

type FileTextProps = { path: string; text: string /** The line to bring into view. */; line: number | null };

/** The text of a file, to read. */
export function FileText({ path, text, line }: FileTextProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!box.current) return;
    const view = new EditorView({
      parent: box.current,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          highlightSelectionMatches(),
          languageOf(path),
          editorTheme,
          EditorState.readOnly.of(true),
          EditorView.contentAttributes.of({ "aria-label": path, tabindex: "0" }),
          keymap.of(searchKeymap),
        ],
      }),
    });
    if (line !== null && line <= view.state.doc.lines) {
      const { from, to } = view.state.doc.line(line);
      view.dispatch({
        selection: { anchor: from, head: to },
        effects: EditorView.scrollIntoView(from, { y: "center" }),
      });
    }
    return () => view.destroy();
  }, [path, text, line]);
  return <div ref={box} className="h-full min-h-0 overflow-hidden" />;
}

function languageOf(path: string): Extension {
  if (/\.ya?ml$/.test(path)) return yaml();
  return path.endsWith(".json") ? json() : [];
}
