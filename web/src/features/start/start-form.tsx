import { CircleAlert, Play } from "lucide-react";
import { useState } from "react";
import { ApiError } from "@/api/client";
import type { BreakpointRequest, FlowText, RunRequest } from "@/api/types";
import { type FormField, readForm } from "@/core/schema-form";
import { Button } from "@/ui/button";
import { Checkbox } from "@/ui/field";
import { SchemaFields } from "@/ui/schema-field";

type StartFormProps = {
  flow: FlowText;
  breakpoints: readonly BreakpointRequest[];
  onStart: (request: RunRequest) => Promise<void>;
};

/** What a run of the flow is given, and where it stops. */
export function StartForm({ flow, breakpoints, onStart }: StartFormProps) {
  const inputs = flow.info?.inputs ?? [];
  const fields = inputs.map(
    (input): FormField => ({
      name: input.name,
      label: input.name,
      hint: input.description,
      isRequired: input.is_required,
      ...fieldKind(input.type, input.default),
    }),
  );
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [stopsAtEntry, setStopsAtEntry] = useState(false);
  const [stopsOnError, setStopsOnError] = useState(true);
  const [isTried, setTried] = useState(false);
  const [isStarting, setStarting] = useState(false);
  const [refusal, setRefusal] = useState<ApiError | null>(null);
  const { value, problems } = readForm(fields, texts);
  const start = async () => {
    setTried(true);
    if (Object.keys(problems).length > 0) return;
    setStarting(true);
    setRefusal(null);
    try {
      await onStart({
        flow: { name: flow.name },
        inputs: value,
        can_ask: true,
        debug: {
          breakpoints: [...breakpoints],
          flow_breakpoints: false, // all of them are here
          stop_at_entry: stopsAtEntry,
          stop_on_error: stopsOnError,
        },
      });
    } catch (error) {
      setRefusal(error as ApiError);
    } finally {
      setStarting(false);
    }
  };
  return (
    <form
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      {fields.length > 0 && (
        <section className="space-y-3">
          <h2 className="font-semibold">Inputs</h2>
          <SchemaFields fields={fields} texts={texts} problems={isTried ? problems : {}} onChange={setTexts} />
        </section>
      )}
      <section className="space-y-1.5">
        <h2 className="font-semibold">Pause</h2>
        <Checkbox
          label="on first step"
          checked={stopsAtEntry}
          onChange={(event) => setStopsAtEntry(event.target.checked)}
        />
        <Checkbox
          label="on failure"
          checked={stopsOnError}
          onChange={(event) => setStopsOnError(event.target.checked)}
        />
        <p className="text-muted text-sm">
          {breakpoints.length === 0
            ? "Click in the gutter to add a breakpoint."
            : `Breakpoints: ${breakpoints.map((each) => each.step ?? `line ${each.line}`).join(", ")}`}
        </p>
      </section>
      {refusal && (
        <div role="alert" className="flex gap-2 rounded-md bg-failed-soft p-2 text-failed">
          <CircleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
          <div>
            <p className="whitespace-pre-wrap">{refusal.message}</p>
            {refusal instanceof ApiError &&
              refusal.problem.mistakes?.map((mistake) => (
                <p key={`${mistake.line}:${mistake.column}`} className="font-mono text-sm">
                  {mistake.line}:{mistake.column} {mistake.message}
                </p>
              ))}
          </div>
        </div>
      )}
      <Button type="submit" look="primary" icon={<Play className="size-3.5" />} isBusy={isStarting}>
        Start run
      </Button>
    </form>
  );
}

function fieldKind(
  type: string | null,
  value: unknown,
): Pick<FormField, "initial"> & { kind: "text" | "number" | "json" | "switch" } {
  const initial =
    value === null || value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
  const told = type ?? (value === null || value === undefined ? "string" : typeof value);
  if (told === "boolean") return { kind: "switch", initial: initial || "false" };
  if (told === "number" || told === "integer") return { kind: "number", initial };
  return { kind: told === "object" || told === "array" ? "json" : "text", initial };
}
