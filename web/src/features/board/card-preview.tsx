import { ChevronDown, ChevronRight } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useCardPreview } from "@/api/card-queries";
import type { NewCardForm } from "@/api/types";
import type { WorkChoice } from "@/core/card-draft";
import { Loading } from "@/ui/feedback";
import { useDebounced } from "@/ui/hooks";
import { CodeText } from "@/ui/json-text";
import { Section } from "@/ui/panel";

type CardPreviewFoldProps = { repo: string; form: NewCardForm | null; choice: WorkChoice };

/** What would be run for a card, asked for while it is open. */
export function CardPreviewFold(props: CardPreviewFoldProps) {
  const [isOpen, setOpen] = useState(false);
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isOpen) section.current?.scrollIntoView?.({ block: "start" });
  }, [isOpen]);
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    <section ref={section} aria-label="Preview" className="min-h-8 rounded-md border border-line">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className="flex h-8 w-full items-center gap-1.5 rounded-md px-2 text-left font-medium text-sm hover:bg-hover"
      >
        <Chevron className="size-3.5 text-muted" aria-hidden />
        {props.choice === "agent" ? "Preview the prompt" : "Preview the flow"}
      </button>
      {isOpen && (
        <div className="min-h-64 space-y-3 border-line border-t p-2">
          <Preview {...props} />
        </div>
      )}
    </section>
  );
}

const WAIT_MILLISECONDS = 400; // while the user types

function Preview({ repo, form }: CardPreviewFoldProps) {
  const text = useDebounced(form === null ? null : JSON.stringify(form), WAIT_MILLISECONDS);
  const preview = useCardPreview(repo, text === null ? null : (JSON.parse(text) as NewCardForm));
  if (form === null) return <p className="text-muted">Fill in the required fields to see the preview.</p>;
  if (preview.error) return <p className="text-failed">{preview.error.message}</p>;
  if (!preview.data) return <Loading label="Loading the preview" />;
  const { prompt, text: flow, test } = preview.data;
  return (
    <div aria-busy={preview.isFetching} className="space-y-3">
      {prompt !== "" && (
        <Section title="Prompt">
          <div className="max-h-64 overflow-auto">
            <CodeText value={prompt} />
          </div>
        </Section>
      )}
      <Section title="Flow">
        <div className="max-h-64 overflow-auto">
          <CodeText value={flow} />
        </div>
      </Section>
      {test !== null && (
        <p className="text-muted">
          Tested with: <code className="font-mono text-sm text-text">{test}</code>
        </p>
      )}
    </div>
  );
}
