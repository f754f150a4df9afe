import { X } from "lucide-react";
import { useMemo, useState } from "react";
import { useStepTypes } from "@/api/queries";
import { titleOfPlace, useRun } from "@/api/run-context";
import type { StepTypeHelp } from "@/api/types";
import { fieldsOf, readForm } from "@/core/schema-form";
import { NeedsStop } from "@/features/debug/needs-stop";
import { Button, IconButton } from "@/ui/button";
import { Empty, Failed, Loading } from "@/ui/feedback";
import { Checkbox, SearchInput, TextInput } from "@/ui/field";
import { Choice } from "@/ui/panel";
import { SchemaFields } from "@/ui/schema-field";
import { toast } from "@/ui/toast";

/** Put a step in beside the one that is stopped: choose its type, fill in what that type takes. */
export function InjectPanel() {
  const { stop } = useRun("stop");
  const types = useStepTypes();
  const [search, setSearch] = useState("");
  const [chosen, setChosen] = useState<string | null>(null);
  if (!stop) return <NeedsStop what="where to inject a step" />;
  if (stop.call && !stop.allowed.includes("inject")) {
    return <Empty title="No step can be injected here">A step can only be injected before a tool call.</Empty>;
  }
  if (types.error) return <Failed error={types.error} onRetry={() => types.refetch()} />;
  if (!types.data) return <Loading />;
  const wanted = search.trim().toLowerCase();
  const able = types.data.filter((type) => type.config !== null);
  const shown = able.filter((type) => `${type.name} ${type.summary}`.toLowerCase().includes(wanted));
  const type = able.find((each) => each.name === chosen);
  return (
    <div className="flex h-full flex-col">
      <div className="shrink-0 space-y-1.5 border-line border-b p-1.5">
        <SearchInput label="Search step types" className="h-7!" value={search} onText={setSearch} />
        <div className="flex max-h-24 flex-wrap gap-1 overflow-auto" role="group" aria-label="Step types">
          {shown.map((each) => (
            <Choice
              key={each.name}
              isChosen={each.name === chosen}
              title={each.summary}
              onChoose={() => setChosen(each.name)}
            >
              <span className="font-mono">{each.name}</span>
            </Choice>
          ))}
        </div>
      </div>
      <WaitingSteps />
      {type ? (
        <InjectForm key={type.name} type={type} />
      ) : (
        <p className="p-3 text-muted">
          Choose a type. The step runs once, in this run only. If it fails, the frame pauses; the current step is
          unaffected.
        </p>
      )}
    </div>
  );
}

/** The injected steps that have not run yet, each of which can be removed again. */
function WaitingSteps() {
  const { debug, detail, act } = useRun("debug", "detail", "act");
  const waiting = debug?.injected.filter((each) => each.is_waiting) ?? [];
  if (waiting.length === 0) return null;
  return (
    <ul aria-label="Waiting to run" className="shrink-0 border-line border-b bg-sunken/50 py-1">
      {waiting.map((each) => (
        <li key={each.step.path} className="flex items-center gap-2 px-3 text-sm">
          <span className="min-w-0 flex-1 truncate">
            <b className="font-medium">{each.step.title}</b> will run {each.position}{" "}
            {titleOfPlace(detail, each.occurrence)}
          </span>
          <IconButton
            size="sm"
            label={`Remove ${each.step.title}`}
            onClick={() => act("uninject", { stop: each.stop, step: each.step.path })}
          >
            <X className="size-3.5" />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}

function InjectForm({ type }: { type: StepTypeHelp }) {
  const { stop, act, pending, detail } = useRun("stop", "act", "pending", "detail");
  const fields = useMemo(() => fieldsOf(type.config ?? {}), [type]);
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [name, setName] = useState("");
  const canBeBefore = stop?.positions.includes("before") ?? false;
  const [wished, setPosition] = useState<"before" | "after">("before");
  const canBeAfter = stop?.positions.includes("after") ?? false;
  const position = !canBeBefore ? "after" : canBeAfter ? wished : "before";
  const [isTried, setTried] = useState(false);
  const [showsAll, setShowsAll] = useState(false);
  const { value, problems } = readForm(fields, texts);
  const shown = showsAll ? fields : fields.filter((field) => field.isRequired || texts[field.name] !== undefined);
  if (!stop) return null;
  const send = async () => {
    setTried(true);
    if (Object.keys(problems).length > 0) return;
    const step = { uses: type.name, with: value, ...(name ? { id: name } : {}) };
    if (await act("inject", { stop: stop.id, step, position })) {
      toast(`Will run ${position} ${titleOfPlace(detail, stop.step, stop.call)}`, "good");
      setTexts({});
      setTried(false);
    }
  };
  return (
    <form
      className="min-h-0 flex-1 space-y-3 overflow-auto p-3"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <p className="text-muted">{type.summary}</p>
      <SchemaFields fields={shown} texts={texts} problems={isTried ? problems : {}} onChange={setTexts} />
      {fields.some((field) => !field.isRequired) && (
        <Checkbox label="Show all fields" checked={showsAll} onChange={(event) => setShowsAll(event.target.checked)} />
      )}
      <div className="flex items-center gap-4">
        <fieldset className="flex items-center gap-3">
          <legend className="sr-only">Position</legend>
          {(["before", "after"] as const).map((each) => (
            <label
              key={each}
              className="flex items-center gap-1.5 has-disabled:opacity-50"
              title={
                stop.positions.includes(each)
                  ? undefined
                  : each === "before"
                    ? "The step has already run: inject after it"
                    : "A step can only be injected before a tool call"
              }
            >
              <input
                type="radio"
                name="position"
                className="accent-(--accent)"
                disabled={!stop.positions.includes(each)}
                checked={position === each}
                onChange={() => setPosition(each)}
              />
              {each} the paused {stop.call ? "call" : "step"}
            </label>
          ))}
        </fieldset>
      </div>
      <div className="flex items-center gap-2">
        <TextInput
          aria-label="ID of the new step"
          placeholder="ID (optional)"
          className="max-w-40"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <Button type="submit" look="primary" isBusy={pending === "inject"}>
          Inject
        </Button>
      </div>
    </form>
  );
}
