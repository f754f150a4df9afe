import { useState } from "react";
import { useStepTypes } from "@/api/queries";
import type { BreakpointRequest, FlowInfo } from "@/api/types";
import { isForCalls, TOOL_CLASSES } from "@/core/breakpoints";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Checkbox, Field, Select, TextField } from "@/ui/field";
import { SuggestInput } from "@/ui/suggest-input";

type Place = "step" | "kind" | "line" | "any" | "state" | "call";

type BreakpointDialogProps = {
  flow: FlowInfo;
  request: BreakpointRequest;
  isNew: boolean;
  onSave: (request: BreakpointRequest) => Promise<string | null>;
  onClose: () => void;
};

function placeOf(request: BreakpointRequest): Place {
  if (isForCalls(request)) return "call";
  if (request.state) return "state";
  if (request.step) return "step";
  if (request.kind) return "kind";
  return request.line ? "line" : "step";
}

/** Every shape that a breakpoint can have. What the server refuses is told where it was written. */
export function BreakpointDialog({ flow, request, isNew, onSave, onClose }: BreakpointDialogProps) {
  const [place, setPlace] = useState<Place>(() => placeOf(request));
  const [form, setForm] = useState({
    step: request.step ?? (isForCalls(request) ? "" : (flow.steps[0]?.path ?? "")),
    tool: request.tool ?? "any",
    path: request.path ?? "",
    kind: request.kind ?? "run",
    file: request.file ?? flow.file,
    line: request.line?.toString() ?? "",
    state: request.state ?? "",
    equals: request.has_equals ? JSON.stringify(request.equals) : "",
    position: request.position ?? "before",
    condition: request.condition ?? "",
    hits: request.hits ?? "",
    log: request.log ?? "",
    note: request.note ?? "",
    group: request.group ?? "",
    once: request.once ?? false,
  });
  const [problem, setProblem] = useState<string | null>(null);
  const [isSaving, setSaving] = useState(false);
  const types = useStepTypes();
  const wrong = problem === null ? null : fieldNamedIn(problem, form);
  const problemOf = (name: Written) => (wrong === name ? problem : null);
  const put = (change: Partial<typeof form>) => setForm({ ...form, ...change });
  const agents = flow.steps.filter((step) => step.kind === "agent").map((step) => step.path);
  const hasAgents = agents.length > 0 || place === "call";
  const choosePlace = (next: Place) => {
    if (next === "call" && !agents.includes(form.step)) put({ step: "" });
    if (place === "call" && form.step === "") put({ step: flow.steps[0]?.path ?? "" });
    setPlace(next);
  };
  const save = async () => {
    setSaving(true);
    const told = await onSave(toRequest(place, form, request.enabled ?? true));
    setSaving(false);
    if (told === null) onClose();
    else setProblem(told);
  };
  return (
    <Dialog
      title={isNew ? "Add breakpoint" : "Edit breakpoint"}
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" isBusy={isSaving} type="submit" form="breakpoint-form">
            {isNew ? "Add" : "Save"}
          </Button>
        </>
      }
    >
      <form
        id="breakpoint-form"
        className="grid grid-cols-2 gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <Field label="Pause at">
          {(ids) => (
            <Select {...ids} value={place} onChange={(event) => choosePlace(event.target.value as Place)}>
              <option value="step">a step</option>
              <option value="kind">a step type</option>
              <option value="line">a line</option>
              <option value="any">any step</option>
              <option value="state">a value change</option>
              {hasAgents && <option value="call">a tool call</option>}
            </Select>
          )}
        </Field>
        <Field label="When">
          {(ids) => (
            <Select
              {...ids}
              value={form.position}
              onChange={(event) => put({ position: event.target.value as typeof form.position })}
            >
              <option value="before">before it runs</option>
              <option value="after">after it runs</option>
              <option value="error">when it fails</option>
            </Select>
          )}
        </Field>
        <div className="col-span-2">
          {place === "step" && (
            <Field label="Step" hint="A path, or one occurrence such as tests[1].unit" problem={problemOf("step")}>
              {(ids) => (
                <SuggestInput
                  {...ids}
                  suggestions={flow.steps.map(({ path }) => path)}
                  className="font-mono"
                  value={form.step}
                  onChange={(event) => put({ step: event.target.value })}
                />
              )}
            </Field>
          )}
          {place === "kind" && (
            <Field label="Type">
              {(ids) => (
                <Select {...ids} value={form.kind} onChange={(event) => put({ kind: event.target.value })}>
                  {types.data?.map((type) => (
                    <option key={type.name}>{type.name}</option>
                  ))}
                </Select>
              )}
            </Field>
          )}
          {place === "line" && (
            <div className="grid grid-cols-[1fr_6rem] gap-3">
              <TextField label="File" value={form.file} onText={(text) => put({ file: text })} />
              <TextField label="Line" type="number" min={1} value={form.line} onText={(text) => put({ line: text })} />
            </div>
          )}
          {place === "call" && <CallFields agents={agents} form={form} problem={problemOf("path")} onChange={put} />}
          {place === "state" && (
            <div className="grid grid-cols-2 gap-3">
              <TextField
                label="Value"
                hint="jq path"
                problem={problemOf("state")}
                className="font-mono"
                placeholder=".vars.region"
                value={form.state}
                onText={(text) => put({ state: text })}
              />
              <TextField
                label="Becomes"
                hint="Leave empty for any change"
                className="font-mono"
                placeholder='"north"'
                value={form.equals}
                onText={(text) => put({ equals: text })}
              />
            </div>
          )}
        </div>
        <div className="col-span-2">
          <TextField
            label="Condition"
            hint={
              place === "call"
                ? "jq; the call is .tool, with name, tool, input, paths and command"
                : "jq; anything except false and null counts as true"
            }
            problem={problemOf("condition")}
            className="font-mono"
            placeholder={place === "call" ? '.tool.command | test("rm|curl")' : ".vars.sizes | length > 2"}
            value={form.condition}
            onText={(text) => put({ condition: text })}
          />
        </div>
        <TextField
          label="Hit count"
          hint="For example >= 3, % 2 or == 5"
          problem={problemOf("hits")}
          className="font-mono"
          value={form.hits}
          onText={(text) => put({ hits: text })}
        />
        <TextField
          label="Group"
          hint="Enable or disable together"
          value={form.group}
          onText={(text) => put({ group: text })}
        />
        <div className="col-span-2">
          <TextField
            label="Log instead of pausing"
            hint="Message, for example: region is ${{ .vars.region }}"
            problem={problemOf("log")}
            className="font-mono"
            value={form.log}
            onText={(text) => put({ log: text })}
          />
        </div>
        <div className="col-span-2">
          <TextField
            label="Note"
            hint="Shown where the run pauses"
            value={form.note}
            onText={(text) => put({ note: text })}
          />
        </div>
        {problem !== null && wrong === null && (
          <p role="alert" className="col-span-2 text-failed text-sm">
            {problem}
          </p>
        )}
        <div className="col-span-2">
          <Checkbox
            label="Remove after first hit"
            checked={form.once}
            onChange={(event) => put({ once: event.target.checked })}
          />
        </div>
      </form>
    </Dialog>
  );
}

type CallFieldsProps = {
  agents: readonly string[];
  form: Form;
  problem: string | null;
  onChange: (change: Partial<Form>) => void;
};

/** Which tool calls to pause at: of which agent, by which tool, about which files. */
function CallFields({ agents, form, problem, onChange }: CallFieldsProps) {
  const [isNamed, setNamed] = useState(form.tool !== "any" && !TOOL_CLASSES.some((each) => each === form.tool));
  const others = form.step === "" || agents.includes(form.step) ? [] : [form.step];
  return (
    <div className="grid grid-cols-2 gap-3">
      <Field label="Agent">
        {(ids) => (
          <Select {...ids} value={form.step} onChange={(event) => onChange({ step: event.target.value })}>
            <option value="">any agent</option>
            {[...agents, ...others].map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label="Tool">
        {(ids) => (
          <Select
            {...ids}
            value={isNamed ? "named" : form.tool}
            onChange={({ target }) => {
              setNamed(target.value === "named");
              onChange({ tool: target.value === "named" ? "" : target.value });
            }}
          >
            <option value="any">any</option>
            {TOOL_CLASSES.map((each) => (
              <option key={each}>{each}</option>
            ))}
            <option value="named">by name</option>
          </Select>
        )}
      </Field>
      {isNamed && (
        <TextField
          label="Tool name"
          hint="As the agent calls it, such as Bash"
          className="font-mono"
          value={form.tool}
          onText={(text) => onChange({ tool: text })}
        />
      )}
      <div className={isNamed ? undefined : "col-span-2"}>
        <TextField
          label="Files"
          hint="Pattern; leave empty for all calls"
          problem={problem}
          className="font-mono"
          placeholder="migrations/**"
          value={form.path}
          onText={(text) => onChange({ path: text })}
        />
      </div>
    </div>
  );
}

type Form = {
  step: string;
  tool: string;
  path: string;
  kind: string;
  file: string;
  line: string;
  state: string;
  equals: string;
  position: "before" | "after" | "error";
  condition: string;
  hits: string;
  log: string;
  note: string;
  group: string;
  once: boolean;
};

type Written = "step" | "hits" | "state" | "log" | "condition" | "path";

/** The field whose text the server found fault with: it says which text that was. */
export function fieldNamedIn(problem: string, form: Record<Written, string>): Written | null {
  const named = (["condition", "log", "state", "hits", "step", "path"] as const).filter(
    (each) => form[each] && problem.includes(form[each]),
  );
  return named.sort((one, other) => form[other].length - form[one].length)[0] ?? null;
}

function toRequest(place: Place, form: Form, enabled: boolean): BreakpointRequest {
  const at = (wanted: Place, value: string) => (place === wanted && value !== "" ? value : null);
  return {
    step: at("step", form.step) ?? at("call", form.step),
    tool: at("call", form.tool.trim()) ?? (place === "call" && form.path === "" ? "any" : null),
    path: at("call", form.path),
    kind: at("kind", form.kind),
    file: at("line", form.file),
    line: place === "line" && form.line !== "" ? Number(form.line) : null,
    state: at("state", form.state),
    equals: place === "state" && form.equals !== "" ? readJson(form.equals) : null,
    has_equals: place === "state" && form.equals !== "",
    position: form.position,
    condition: form.condition || null,
    hits: form.hits || null,
    log: form.log || null,
    note: form.note || null,
    group: form.group || null,
    once: form.once,
    enabled,
  };
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
