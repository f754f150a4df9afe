import { useState } from "react";
import { TextInput } from "@/ui/field";

type ValueEditorProps = { path: string; value: unknown; onSave: (value: unknown) => void; onCancel: () => void };

/** A value in place: JSON as it is written, and what is no JSON is taken as text. */
export function ValueEditor({ path, value, onSave, onCancel }: ValueEditorProps) {
  const [text, setText] = useState(() => (value === undefined ? "" : JSON.stringify(value)));
  const parsed = parseValue(text);
  return (
    <form
      className="flex min-w-0 flex-1 items-center gap-1.5"
      onSubmit={(event) => {
        event.preventDefault();
        onSave(parsed.value);
      }}
    >
      <TextInput
        autoFocus
        aria-label={`New value of ${path}`}
        className="h-6! font-mono text-sm!"
        value={text}
        onFocus={(event) => event.target.select()}
        onChange={(event) => setText(event.target.value)}
        onBlur={onCancel}
        onKeyDown={(event) => {
          event.stopPropagation();
          if (event.key === "Escape") onCancel();
        }}
      />
      <span className="shrink-0 text-faint text-xs">{parsed.isJson ? "JSON" : "text"}</span>
    </form>
  );
}

export function parseValue(text: string): { value: unknown; isJson: boolean } {
  try {
    return { value: JSON.parse(text), isJson: true };
  } catch {
    return { value: text, isJson: false };
  }
}
