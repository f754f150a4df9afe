import { X } from "lucide-react";
import { type CardDraft, withLabels } from "@/core/card-draft";
import { Field } from "@/ui/field";
import { SuggestInput } from "@/ui/suggest-input";

type LabelFieldProps = {
  draft: Pick<CardDraft, "labels" | "label">;
  /** The labels of other cards. */
  known: readonly string[];
  onChange: (changes: Partial<CardDraft>) => void;
};

const LONGEST = 50;

/** Labels, added by a comma or Enter, each removed by its button. */
export function LabelField({ draft: { labels, label: text }, known, onChange }: LabelFieldProps) {
  const add = (added: string) => onChange({ labels: withLabels(labels, added), label: "" });
  return (
    <Field label="Labels" hint="Separated by commas.">
      {(ids) => (
        <>
          <SuggestInput
            {...ids}
            suggestions={known.filter((label) => !labels.includes(label))}
            maxLength={LONGEST}
            value={text}
            onChange={({ target, nativeEvent }) => {
              const isChosen = (nativeEvent as InputEvent).inputType === "insertReplacementText";
              if (target.value.includes(",") || isChosen) add(target.value);
              else onChange({ label: target.value });
            }}
            onBlur={() => text.trim() && add(text)}
            onKeyDown={(event) => {
              if (event.ctrlKey || event.metaKey) return;
              if (event.key === "Enter" && text.trim()) {
                event.preventDefault();
                add(text);
              } else if (event.key === "Backspace" && text === "" && labels.length > 0) {
                onChange({ labels: labels.slice(0, -1) });
              }
            }}
          />
          {labels.length > 0 && (
            <span className="flex flex-wrap gap-1">
              {labels.map((label) => (
                <button
                  key={label}
                  type="button"
                  aria-label={`Remove label ${label}`}
                  onClick={() => onChange({ labels: labels.filter((each) => each !== label) })}
                  className="flex min-h-6 max-w-full items-center gap-1 rounded-sm bg-sunken px-1.5 text-sm hover:bg-hover"
                >
                  <span className="truncate">{label}</span>
                  <X className="size-3 shrink-0" aria-hidden />
                </button>
              ))}
            </span>
          )}
        </>
      )}
    </Field>
  );
}
