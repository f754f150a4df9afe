import { useState } from "react";
import { api } from "@/api/client";
import { useFolder } from "@/api/repo-queries";
import type { RunDetail } from "@/api/types";
import { AGENTS } from "@/core/card-draft";
import {
  type FixDraft,
  fixProblems,
  fixRequest,
  LONGEST_GOAL,
  NEW_FIX,
  secretsText,
  stepsToFix,
} from "@/core/fix-draft";
import { Field, Select, TextArea, TextField } from "@/ui/field";
import { FormDialog } from "@/ui/form-dialog";
import { FormProblem } from "@/ui/form-problem";
import { SuggestInput } from "@/ui/suggest-input";
import { useSubmit } from "@/ui/use-submit";

export type FixDialogProps = {
  run: RunDetail;
  /** The step to start with, if it is not the one that failed. */
  step?: string;
  goal?: string;
  onOpenRun: (run: string) => void;
  onClose: () => void;
};

/** Runs a failed step again in a fix loop: by which agents, for which goal, and within which limits. */
export function FixDialog({ run, step, goal = "", onOpenRun, onClose }: FixDialogProps) {
  const steps = stepsToFix(run, step);
  const [draft, setDraft] = useState<FixDraft>({ ...NEW_FIX, step: steps[0] ?? "", goal });
  const [isTried, setTried] = useState(false);
  const { isBusy, problem, submit } = useSubmit(async (asked: FixDraft) => {
    try {
      onOpenRun((await api.rerun(run.id, fixRequest(asked))).id);
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }, onClose);
  const found = fixProblems(draft);
  const problems = isTried ? found : {};
  const change = (changes: Partial<FixDraft>) => setDraft((now) => ({ ...now, ...changes }));
  const start = () => {
    setTried(true);
    if (Object.keys(found).length === 0) void submit(draft);
  };
  return (
    <FormDialog
      title="Fix this failure"
      action="Start fix loop"
      width={560}
      isBusy={isBusy}
      onSubmit={start}
      onClose={onClose}
    >
      <p className="text-muted">
        Runs the step again. If it fails, one agent diagnoses the failure, another repairs it, and the step is tested
        again.
      </p>
      {run.card !== null && (
        <p className="text-muted">
          The new run is no attempt of the card, which stays as it is. The fix is an artifact of the run.
        </p>
      )}
      <StepField run={run} steps={steps} step={draft.step} onChange={(path) => change({ step: path })} />
      <Agents run={run} draft={draft} problem={problems.agent} onChange={change} />
      <Field label="Goal" hint="What the change is for. The agents are told.">
        {(ids) => (
          <TextArea
            {...ids}
            rows={2}
            spellCheck
            maxLength={LONGEST_GOAL}
            className="font-sans! text-base!"
            placeholder="Optional"
            value={draft.goal}
            onChange={(event) => change({ goal: event.target.value })}
          />
        )}
      </Field>
      <div className="grid grid-cols-2 gap-3">
        <TextField
          label="Iterations"
          problem={problems.iterations}
          inputMode="numeric"
          value={draft.iterations}
          onText={(text) => change({ iterations: text })}
        />
        <TextField
          label="Budget (USD)"
          problem={problems.cost}
          inputMode="decimal"
          placeholder="No limit"
          value={draft.cost}
          onText={(text) => change({ cost: text })}
        />
      </div>
      <TextField
        label="Secrets"
        hint="Names of stored secrets that only the agents get, separated by commas."
        className="font-mono text-sm!"
        placeholder="None"
        value={secretsText(draft)}
        onText={(text) => change({ secrets: text })}
      />
      <FormProblem problem={problem} />
    </FormDialog>
  );
}

type StepFieldProps = { run: RunDetail; steps: readonly string[]; step: string; onChange: (step: string) => void };

function StepField({ run, steps, step, onChange }: StepFieldProps) {
  const chosen = run.flow_info.steps.find(({ path }) => path === step);
  const hint = chosen?.kind === "fix" ? "If the flow has a fix loop for it, the options there apply." : undefined;
  return (
    <Field label="Step" hint={hint}>
      {(ids) => (
        <Select {...ids} disabled={steps.length < 2} value={step} onChange={(event) => onChange(event.target.value)}>
          {steps.map((path) => (
            <option key={path}>{path}</option>
          ))}
        </Select>
      )}
    </Field>
  );
}

const PROFILES = ".pitstop/agents";
const ROLES = [
  ["diagnose", "Agent that diagnoses"],
  ["fix", "Agent that repairs"],
] as const;

type AgentsProps = {
  run: RunDetail;
  draft: FixDraft;
  problem?: string;
  onChange: (changes: Partial<FixDraft>) => void;
};

/** The agent for both roles, and others for one of them: built-in ones, those of the repository, or any other profile. */
function Agents({ run, draft, problem, onChange }: AgentsProps) {
  const own = useProfiles(run);
  const names = [...new Set([...own, ...AGENTS])];
  return (
    <>
      <Field label="Agent" hint="Built in, or a profile of the repository." problem={problem} isRequired>
        {(ids) => (
          <SuggestInput
            {...ids}
            suggestions={names}
            value={draft.agent}
            onChange={(event) => onChange({ agent: event.target.value })}
          />
        )}
      </Field>
      <div className="grid grid-cols-2 gap-3">
        {ROLES.map(([role, label]) => (
          <Field key={role} label={label}>
            {(ids) => (
              <SuggestInput
                {...ids}
                suggestions={names}
                placeholder={draft.agent.trim()}
                value={draft[role]}
                onChange={(event) => onChange({ [role]: event.target.value })}
              />
            )}
          </Field>
        ))}
      </div>
    </>
  );
}

/** The profiles at the commit of the run; none of a run that is of no repository. */
function useProfiles({ repo, ref, commit }: RunDetail): string[] {
  const folder = useFolder(repo ?? "", commit?.sha ?? ref ?? "", PROFILES, repo !== null);
  return (folder.data?.entries ?? []).flatMap(({ name }) => /^(.+)\.yaml$/.exec(name)?.[1] ?? []);
}
