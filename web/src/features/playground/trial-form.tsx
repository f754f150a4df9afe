import { type ReactNode, useId } from "react";
import { useBranchNames, useFolder } from "@/api/repo-queries";
import { AGENTS } from "@/core/card-draft";
import {
  defaultSaveName,
  INPUTS,
  type TrialDraft,
  type TrialInput,
  trialProblems,
  withProfile,
} from "@/core/trial-draft";
import { MOST_COMPARED } from "@/core/trials";
import { classNames } from "@/ui/class-names";
import { Checkbox, Field, TextArea, TextField } from "@/ui/field";
import { useDebounced } from "@/ui/hooks";
import { Choice } from "@/ui/panel";
import { SuggestInput } from "@/ui/suggest-input";

type Problems = ReturnType<typeof trialProblems>;
type Change = (changes: Partial<TrialDraft>) => void;
type PartProps = { draft: TrialDraft; problems: Problems; onChange: Change };

type TrialFormProps = {
  repo: { id: string; default_branch: string };
  draft: TrialDraft;
  /** Whether what is missing is shown: not before the user has tried to run it. */
  isTried: boolean;
  onChange: Change;
  /** The buttons that run it. */
  children: ReactNode;
};

/** What is to be tried: a prompt, the agents, and what they work on. */
export function TrialForm({ repo, draft, isTried, onChange, children }: TrialFormProps) {
  const problems = isTried ? trialProblems(draft) : {};
  const part = { draft, problems, onChange };
  return (
    <form aria-label="Trial" className="space-y-3" noValidate onSubmit={(event) => event.preventDefault()}>
      <BranchField repo={repo} branch={draft.ref} onChange={(ref) => onChange({ ref })} />
      <AgentChoice repo={repo} {...part} />
      <Field label="Prompt" problem={problems.prompt} isRequired>
        {(ids) => (
          <TextArea
            {...ids}
            rows={7}
            spellCheck
            dir="auto"
            className="resize-y font-sans! text-base!"
            value={draft.prompt}
            onChange={(event) => onChange({ prompt: event.target.value })}
          />
        )}
      </Field>
      <InputChoice {...part} />
      <div className="space-y-1">
        <SaveField {...part} />
        <Checkbox
          label="Pause at each tool call"
          checked={draft.isDebugged}
          onChange={(event) => onChange({ isDebugged: event.target.checked })}
        />
      </div>
      <Limits {...part} />
      {children}
    </form>
  );
}

type BranchFieldProps = { repo: TrialFormProps["repo"]; branch: string; onChange: (branch: string) => void };

function BranchField({ repo, branch, onChange }: BranchFieldProps) {
  const names = useBranchNames(repo.id);
  return (
    <Field label="Branch, tag or commit">
      {(ids) => (
        <SuggestInput
          {...ids}
          suggestions={names}
          placeholder={repo.default_branch}
          value={branch}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

const PROFILES = ".pitstop/agents";
const REF_MILLISECONDS = 500; // after the last key, before the profiles of another branch are listed

/** The agents, as many as are compared: built-in ones, and those of the repository. */
function AgentChoice({ repo, draft, problems, onChange }: PartProps & { repo: TrialFormProps["repo"] }) {
  const ref = useDebounced(draft.ref.trim() || repo.default_branch, REF_MILLISECONDS);
  const folder = useFolder(repo.id, ref, PROFILES);
  const own = (folder.data?.entries ?? []).flatMap(({ name }) => /^(.+)\.yaml$/.exec(name)?.[1] ?? []);
  const names = [...new Set([...own, ...AGENTS, ...draft.profiles])];
  const { profiles } = draft;
  const isFull = profiles.length >= MOST_COMPARED;
  return (
    <fieldset>
      <legend className="mb-1 font-medium text-sm">
        Agents<span className="text-failed"> *</span>
      </legend>
      <div className="flex flex-wrap gap-1">
        {names.map((name) => {
          const isChosen = profiles.includes(name);
          return (
            <Choice
              key={name}
              isChosen={isChosen}
              isDisabled={isFull && !isChosen}
              onChoose={() => onChange({ profiles: withProfile(profiles, name) })}
            >
              {name}
            </Choice>
          );
        })}
      </div>
      <p className={classNames("mt-1 text-sm", problems.profiles ? "text-failed" : "text-muted")}>
        {problems.profiles ??
          (profiles.length > 1
            ? `${profiles.length} agents get the same prompt, each in a trial of its own.`
            : `Choose up to ${MOST_COMPARED} to compare them.`)}
      </p>
    </fieldset>
  );
}

function InputChoice({ draft, problems, onChange }: PartProps) {
  const name = useId();
  return (
    <fieldset className="space-y-1">
      <legend className="mb-1 font-medium text-sm">Input</legend>
      <div className="flex flex-wrap gap-x-4 gap-y-1">
        {(Object.keys(INPUTS) as TrialInput[]).map((each) => (
          <label key={each} className="flex min-h-6 cursor-pointer items-center gap-1.5">
            <input
              type="radio"
              name={name}
              className="size-3.5 accent-(--accent)"
              checked={each === draft.input}
              onChange={() => onChange({ input: each })}
            />
            {INPUTS[each].label}
          </label>
        ))}
      </div>
      <p className="text-muted text-sm">{INPUTS[draft.input].hint}</p>
      {draft.input === "file" && (
        <TextField
          label="File"
          problem={problems.path}
          isRequired
          placeholder="src/prices.py"
          value={draft.path}
          onText={(text) => onChange({ path: text })}
        />
      )}
    </fieldset>
  );
}

function SaveField({ draft, problems, onChange }: PartProps) {
  return (
    <div className="space-y-1">
      <Checkbox
        label="Save the result to a branch"
        checked={draft.isSaved}
        onChange={(event) => onChange({ isSaved: event.target.checked })}
      />
      {draft.isSaved && (
        <TextField
          label="Name of the branch"
          hint={`Saved to agent-test/${draft.save.trim() || defaultSaveName(draft)}-001, or the next free number.`}
          problem={problems.save}
          placeholder={defaultSaveName(draft)}
          value={draft.save}
          onText={(text) => onChange({ save: text })}
        />
      )}
    </div>
  );
}

function Limits({ draft, problems, onChange }: PartProps) {
  return (
    <div className="grid grid-cols-3 gap-3">
      <TextField label="Model" placeholder="Default" value={draft.model} onText={(text) => onChange({ model: text })} />
      <TextField
        label="Budget (USD)"
        problem={problems.cost}
        inputMode="decimal"
        placeholder="No limit"
        value={draft.cost}
        onText={(text) => onChange({ cost: text })}
      />
      <TextField
        label="Time limit"
        problem={problems.time}
        placeholder="20m"
        value={draft.time}
        onText={(text) => onChange({ time: text })}
      />
    </div>
  );
}
