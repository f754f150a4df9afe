import { CircleAlert, Play } from "lucide-react";
import { useState } from "react";
import { ApiError } from "@/api/client";
import type { BreakpointRequest, FlowText, Mistake, RunRequest } from "@/api/types";
import { shortFile } from "@/core/addresses";
import { type FormField, readForm } from "@/core/schema-form";
import { Button } from "@/ui/button";
import { Checkbox } from "@/ui/field";
import { SchemaFields } from "@/ui/schema-field";

type StartFormProps = {
  flow: FlowText;
  /** How the server is asked for it. */
  choice: RunRequest["flow"];
  /** Whether to suggest a pause on the first step. */
  isDebugging?: boolean;
  /** Whether it cannot be started, for a reason that is told elsewhere. */
  isBlocked?: boolean;
  breakpoints: readonly BreakpointRequest[];
  /** Show a line of the source. */
  onLine: (line: number) => void;
  onStart: (request: RunRequest) => Promise<void>;
};

/** What a run of the flow is given, and where it pauses. */
export function StartForm({
  flow,
  choice,
  isDebugging = false,
  isBlocked = false,
  breakpoints,
  onLine,
  onStart,
}: StartFormProps) {
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
  const secretFields = (flow.info?.secrets ?? []).map(
    ({ name, is_stored }): FormField => ({
      name,
      label: name,
      hint: is_stored ? "Stored on the server. Leave it empty to use that value." : "",
      isRequired: !is_stored,
      kind: "secret",
      initial: "",
    }),
  );
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [secretTexts, setSecretTexts] = useState<Record<string, string>>({});
  const [stopsAtEntry, setStopsAtEntry] = useState(isDebugging);
  const [stopsOnError, setStopsOnError] = useState(true);
  const [isTried, setTried] = useState(false);
  const [isStarting, setStarting] = useState(false);
  const [refusal, setRefusal] = useState<ApiError | null>(null);
  const { value, problems } = readForm(fields, texts);
  const { value: secrets, problems: secretProblems } = readForm(secretFields, secretTexts);
  const refused = refusal instanceof ApiError ? (refusal.problem.mistakes ?? []) : [];
  const mistakes = flow.mistakes.length > 0 ? flow.mistakes : refused;
  const start = async () => {
    setTried(true);
    if (Object.keys({ ...problems, ...secretProblems }).length > 0) return;
    setStarting(true);
    setRefusal(null);
    try {
      await onStart({
        flow: choice,
        inputs: value,
        secrets: secrets as Record<string, string>,
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
      {secretFields.length > 0 && (
        <section className="space-y-3">
          <h2 className="font-semibold">Secrets</h2>
          <SchemaFields
            fields={secretFields}
            texts={secretTexts}
            problems={isTried ? secretProblems : {}}
            onChange={setSecretTexts}
          />
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
      {mistakes.length > 0 && <Mistakes mistakes={mistakes} file={flow.file} onLine={onLine} />}
      {refusal && mistakes.length === 0 && (
        <p role="alert" className="whitespace-pre-wrap rounded-md bg-failed-soft p-2 text-failed">
          {refusal.message}
        </p>
      )}
      <Button
        type="submit"
        look="primary"
        icon={<Play className="size-3.5" />}
        isBusy={isStarting}
        disabled={flow.mistakes.length > 0 || isBlocked}
      >
        Start run
      </Button>
    </form>
  );
}

type MistakesProps = { mistakes: readonly Mistake[]; file: string; onLine: (line: number) => void };

/** What has to be mended in the flow before it can run; each line leads to its place in the source. */
function Mistakes({ mistakes, file, onLine }: MistakesProps) {
  return (
    <section aria-label="Errors in the flow" className="rounded-md bg-failed-soft p-2 text-failed">
      <h2 className="flex items-center gap-2 font-semibold">
        <CircleAlert className="size-4 shrink-0" aria-hidden />
        {mistakes.length === 1 ? "1 error" : `${mistakes.length} errors`}
      </h2>
      <ul className="mt-1 space-y-1">
        {mistakes.map((mistake) => (
          <li key={`${mistake.file}:${mistake.line}:${mistake.column}:${mistake.message}`}>
            <button
              type="button"
              className="min-h-6 text-left hover:underline"
              onClick={() => mistake.file === file && onLine(mistake.line)}
            >
              <span className="font-mono text-sm">
                {mistake.file === file ? "" : `${shortFile(mistake.file)}:`}
                {mistake.line}:{mistake.column}
              </span>{" "}
              {mistake.message}
            </button>
          </li>
        ))}
      </ul>
    </section>
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
