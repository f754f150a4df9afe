import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const look = EditorView.theme({
  "&": { backgroundColor: "var(--surface)", color: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--faint)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--hover) 60%, transparent)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 22%, transparent) !important",
  },
  ".cm-breakpoints .cm-gutterElement": {
    width: "20px",
    cursor: "pointer",
    display: "flex",
    alignItems: "center",
    justifyContent: "center",
  },
  ".cm-breakpoints .cm-gutterElement:hover::before": {
    content: '""',
    width: "9px",
    height: "9px",
    borderRadius: "50%",
    border: "1.5px solid var(--breakpoint)",
    opacity: 0.6,
    position: "absolute",
  },
  ".cm-line.cm-stopped": { backgroundColor: "var(--paused-soft)" },
  ".cm-line.cm-stopped-active": { backgroundColor: "var(--paused-soft)", boxShadow: "inset 3px 0 var(--paused-fill)" },
  ".cm-line.cm-failed": { backgroundColor: "var(--failed-soft)" },
  // A block in the text may have no margin: the editor measures it without. So the space around the note is padding.
  ".cm-error-note": { padding: "2px 16px 6px 8px", fontSize: "12px", contain: "inline-size" }, // no wider than the text
  ".cm-error-note > div": {
    padding: "4px 8px",
    borderRadius: "6px",
    color: "var(--failed)",
    backgroundColor: "var(--failed-soft)",
    border: "1px solid color-mix(in srgb, var(--failed) 35%, transparent)",
    whiteSpace: "pre-wrap",
  },
  ".cm-panels": { backgroundColor: "var(--sunken)", color: "var(--text)", borderColor: "var(--line)" },
  ".cm-searchMatch": { backgroundColor: "color-mix(in srgb, var(--paused-fill) 45%, transparent)" },
  ".cm-textfield": { backgroundColor: "var(--surface)", border: "1px solid var(--line-strong)", borderRadius: "4px" },
  ".cm-button": {
    backgroundImage: "none",
    backgroundColor: "var(--surface)",
    border: "1px solid var(--line-strong)",
    borderRadius: "4px",
  },
  ".cm-tooltip": { backgroundColor: "var(--surface)", border: "1px solid var(--line)", borderRadius: "6px" },
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--ansi-blue)" },
  { tag: [tags.string, tags.content], color: "var(--text)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--ansi-magenta)" },
  { tag: tags.comment, color: "var(--faint)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.meta], color: "var(--muted)" },
  { tag: tags.keyword, color: "var(--ansi-magenta)" },
]);

export const editorTheme = [look, syntaxHighlighting(colours)];
