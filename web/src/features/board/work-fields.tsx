import { Plus, X } from "lucide-react";
import { useRepoFlow, useRepoFlows } from "@/api/repo-queries";
import { AGENTS, type CardDraft, type DraftInput } from "@/core/card-draft";
import { Button, IconButton } from "@/ui/button";
import { Field, Select, TextArea, TextField, TextInput } from "@/ui/field";
import { SuggestInput } from "@/ui/suggest-input";

type Problems = Partial<Record<keyof CardDraft, string>>;
type FieldsProps = { draft: CardDraft; problems: Problems; onChange: (changes: Partial<CardDraft>) => void };
type WorkFieldsProps = FieldsProps & { repo: string; profiles: readonly string[] };

/** What the kind of work of a card needs to be told. */
export function WorkFields({ repo, profiles, ...fields }: WorkFieldsProps) {
  switch (fields.draft.choice) {
    case "agent":
      return <AgentFields {...fields} profiles={profiles} />;
    case "script":
      return <ScriptField {...fields} />;
    case "image":
      return (
        <>
          <ImageField {...fields} isRequired />
          <ScriptField {...fields} />
        </>
      );
    case "flow":
      return <FlowFields {...fields} repo={repo} />;
    case "none":
      return null;
  }
}

const isBuiltIn = (name: string) => AGENTS.some((each) => each === name.trim());

function AgentFields({ draft, problems, profiles, onChange }: FieldsProps & { profiles: readonly string[] }) {
  const names = [...new Set([...AGENTS, ...profiles])];
  return (
    <>
      <div className="grid gap-3 sm:grid-cols-2">
        <Field label="Agent" problem={problems.agent} isRequired>
          {(ids) => (
            <SuggestInput
              {...ids}
              suggestions={names}
              value={draft.agent}
              onChange={(event) => onChange({ agent: event.target.value })}
            />
          )}
        </Field>
        {(!isBuiltIn(draft.agent) || draft.cli !== "") && (
          <Field label="Runs on" hint="The agent that the profile is for.">
            {(ids) => (
              <Select {...ids} value={draft.cli} onChange={(event) => onChange({ cli: event.target.value })}>
                <option value="">As the profile says</option>
                {AGENTS.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </Select>
            )}
          </Field>
        )}
        <TextField
          label="Model"
          placeholder="As the agent has it"
          value={draft.model}
          onText={(text) => onChange({ model: text })}
        />
        <TextField
          label="Budget"
          hint="US dollars. The run fails when it is spent."
          problem={problems.cost}
          inputMode="decimal"
          placeholder="No limit"
          value={draft.cost}
          onText={(text) => onChange({ cost: text })}
        />
        <ImageField draft={draft} problems={problems} onChange={onChange} />
      </div>
      <Field label="Extra prompt" hint="Added to the title and the description.">
        {(ids) => (
          <TextArea
            {...ids}
            rows={2}
            spellCheck
            className="font-sans! text-base!"
            value={draft.prompt}
            onChange={(event) => onChange({ prompt: event.target.value })}
          />
        )}
      </Field>
    </>
  );
}

function ImageField({ draft, problems, onChange, isRequired = false }: FieldsProps & { isRequired?: boolean }) {
  return (
    <TextField
      label="Image"
      problem={problems.image}
      isRequired={isRequired}
      placeholder={isRequired ? "python:3.13" : "No container"}
      value={draft.image}
      onText={(text) => onChange({ image: text })}
    />
  );
}

function ScriptField({ draft, problems, onChange }: FieldsProps) {
  return (
    <Field label="Script" hint="It runs in the checkout of the branch." problem={problems.script} isRequired>
      {(ids) => (
        <TextArea
          {...ids}
          rows={6}
          value={draft.script}
          onChange={(event) => onChange({ script: event.target.value })}
        />
      )}
    </Field>
  );
}

function FlowFields({ repo, draft, problems, onChange }: FieldsProps & { repo: string }) {
  const flows = useRepoFlows(repo);
  const usable = (flows.data ?? []).filter(({ problems: broken }) => broken.length === 0).map(({ name }) => name);
  const names = draft.flow === "" || usable.includes(draft.flow) ? usable : [draft.flow, ...usable];
  const hint = flows.isSuccess && usable.length === 0 ? "No flow of this repository can run." : flows.error?.message;
  return (
    <>
      <Field label="Flow" hint={hint} problem={problems.flow} isRequired>
        {(ids) => (
          <Select {...ids} value={draft.flow} onChange={(event) => onChange({ flow: event.target.value })}>
            <option value="" disabled>
              Choose a flow
            </option>
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </Select>
        )}
      </Field>
      <InputFields
        repo={repo}
        flow={draft.flow}
        inputs={draft.inputs}
        problem={problems.inputs}
        onChange={(inputs) => onChange({ inputs })}
      />
    </>
  );
}

type InputFieldsProps = {
  repo: string;
  flow: string;
  inputs: readonly DraftInput[];
  problem?: string;
  onChange: (inputs: readonly DraftInput[]) => void;
};

function InputFields({ repo, flow, inputs, problem, onChange }: InputFieldsProps) {
  const known = useRepoFlow(repo, flow || null, null).data?.info?.inputs ?? [];
  const set = (at: number, changes: Partial<DraftInput>) =>
    onChange(inputs.map((each, index) => (index === at ? { ...each, ...changes } : each)));
  return (
    <fieldset className="space-y-1">
      <legend className="mb-1 font-medium text-sm">Inputs</legend>
      {inputs.map(({ name, value }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the name is being typed
        <div key={at} className="flex gap-1">
          <SuggestInput
            aria-label="Name of the input"
            placeholder="name"
            className="max-w-44"
            suggestions={known.map((each) => each.name)}
            value={name}
            onChange={(event) => set(at, { name: event.target.value })}
          />
          <TextInput
            aria-label={name ? `Value of ${name}` : "Value of the input"}
            placeholder={defaultOf(known, name)}
            className="font-mono text-sm!"
            value={value}
            onChange={(event) => set(at, { value: event.target.value })}
          />
          <IconButton
            label={name ? `Remove input ${name}` : "Remove input"}
            onClick={() => onChange(inputs.filter((_, index) => index !== at))}
          >
            <X className="size-3.5" />
          </IconButton>
        </div>
      ))}
      <Button
        size="sm"
        icon={<Plus className="size-3.5" />}
        onClick={() => onChange([...inputs, { name: unused(known, inputs), value: "" }])}
      >
        Add input
      </Button>
      {problem && <p className="text-failed text-sm">{problem}</p>}
    </fieldset>
  );
}

type KnownInput = { name: string; default: unknown };

function defaultOf(known: readonly KnownInput[], name: string): string {
  const value = known.find((each) => each.name === name)?.default;
  return value === undefined || value === null ? "value" : typeof value === "string" ? value : JSON.stringify(value);
}

/** The next input of the flow that has no value yet. */
function unused(known: readonly KnownInput[], inputs: readonly DraftInput[]): string {
  return known.find(({ name }) => !inputs.some((each) => each.name === name))?.name ?? "";
}
