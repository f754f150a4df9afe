import { useQuery } from "@tanstack/react-query";
import { Eye, X } from "lucide-react";
import { useState } from "react";
import { api } from "@/api/client";
import { useRun, useRunValue } from "@/api/run-context";
import { Button, IconButton } from "@/ui/button";
import { Empty } from "@/ui/feedback";
import { TextInput } from "@/ui/field";
import { InlineValue, typeOf } from "@/ui/json-text";

/** Expressions whose values are shown at every stop. */
export function WatchPanel() {
  const { run, stop, edited, act, isLive, isViewer } = useRun("run", "stop", "edited", "act", "isLive", "isViewer");
  const [text, setText] = useState("");
  const watches = useRunValue(({ view }) => view.watches);
  const values = useQuery({
    queryKey: ["watches", run.id, stop?.id, edited, watches],
    queryFn: () => api.watches(run.id, stop?.id ?? 0),
    enabled: stop !== null && watches.length > 0,
    placeholderData: (kept) => kept,
  });
  const add = async () => {
    if (text.trim() && (await act("watch", { expression: text.trim() }))) setText("");
  };
  return (
    <div className="flex h-full flex-col">
      {!isViewer && (
        <form
          className="flex shrink-0 gap-1.5 border-line border-b p-1.5"
          onSubmit={(event) => {
            event.preventDefault();
            void add();
          }}
        >
          <TextInput
            aria-label="Expression to watch"
            placeholder="jq, such as .steps.build.outputs.version"
            className="h-7! font-mono text-sm!"
            value={text}
            disabled={!isLive}
            onChange={(event) => setText(event.target.value)}
          />
          <Button type="submit" className="h-7!" disabled={!isLive || !text.trim()}>
            Watch
          </Button>
        </form>
      )}
      {watches.length === 0 ? (
        <Empty icon={<Eye className="size-6" />} title="No watches">
          Watches are evaluated at every stop.
        </Empty>
      ) : (
        <ul className="min-h-0 flex-1 overflow-auto py-1">
          {watches.map((expression) => {
            const told = stop ? values.data?.[expression] : undefined;
            return (
              <li key={expression} className="flex items-center gap-2 px-3 py-0.5 hover:bg-hover">
                <code className="shrink-0 font-mono text-sm">{expression}</code>
                <span className="min-w-0 flex-1 truncate text-right">
                  {told === undefined ? (
                    <span className="text-faint text-sm">{stop ? "…" : "not evaluated yet"}</span>
                  ) : "error" in told ? (
                    <span className="text-failed text-sm">{told.error}</span>
                  ) : (
                    <InlineValue type={typeOf(told.value)} text={JSON.stringify(told.value)} />
                  )}
                </span>
                {!isViewer && (
                  <IconButton
                    size="sm"
                    label={`Remove watch ${expression}`}
                    onClick={() => act("unwatch", { expression })}
                  >
                    <X className="size-3.5" />
                  </IconButton>
                )}
              </li>
            );
          })}
        </ul>
      )}
    </div>
  );
}
