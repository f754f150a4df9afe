import { useState } from "react";
import type { RunDetail, StepInfo } from "@/api/types";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Checkbox, Field, Select, TextInput } from "@/ui/field";

type How = { fromStep: string; breakpoints: string[]; commit?: string };

type DebugFailureDialogProps = {
  detail: RunDetail;
  onRun: (how: How) => Promise<string | null>;
  onClose: () => void;
};

/** A re-run of a failed run under the debugger: where it starts, where it pauses, and on which commit. */
export function DebugFailureDialog({ detail, onRun, onClose }: DebugFailureDialogProps) {
  const failed = detail.failures[0]?.step.split("+")[0] ?? "";
  const { steps } = detail.flow_info;
  const [start, setStart] = useState(failed);
  const [paused, setPaused] = useState<ReadonlySet<string>>(new Set([failed]));
  const [isOther, setOther] = useState(false);
  const [commit, setCommit] = useState(detail.commit?.branch ?? "");
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const debug = async () => {
    setBusy(true);
    setProblem(await onRun({ fromStep: start, breakpoints: [...paused], commit: isOther ? commit.trim() : undefined }));
    setBusy(false);
  };
  const toggle = (path: string) => {
    const next = new Set(paused);
    if (!next.delete(path)) next.add(path);
    setPaused(next);
  };
  return (
    <Dialog
      title="Debug this failure"
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            type="submit"
            form="debug-failure"
            isBusy={isBusy}
            disabled={isOther && commit.trim() === ""}
          >
            Start debugging
          </Button>
        </>
      }
    >
      <form
        id="debug-failure"
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          void debug();
        }}
      >
        <Field label="Start at" hint="Earlier results come from this run." problem={problem}>
          {(ids) => (
            <Select {...ids} value={start} onChange={(event) => setStart(event.target.value)}>
              {steps.map((step) => (
                <option key={step.path} value={step.path}>
                  {step.path}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <fieldset>
          <legend className="font-medium">Pause before</legend>
          <div className="mt-1 max-h-56 overflow-auto rounded-md border border-line p-2">
            {steps.map((step) => (
              <div key={step.path} style={{ paddingLeft: depthOf(step) * 16 }}>
                <Checkbox
                  label={step.path === failed ? `${step.title} (failed)` : step.title}
                  checked={paused.has(step.path)}
                  onChange={() => toggle(step.path)}
                />
              </div>
            ))}
          </div>
          <p className="mt-1 text-muted text-sm">The run also pauses where a step fails.</p>
        </fieldset>
        {detail.commit && (
          <fieldset className="space-y-1">
            <legend className="font-medium">Commit</legend>
            <label className="flex items-center gap-1.5">
              <input
                type="radio"
                name="commit"
                className="accent-(--accent)"
                checked={!isOther}
                onChange={() => setOther(false)}
              />
              Same as the failure
              <code className="font-mono text-muted text-sm">{detail.commit.sha.slice(0, 8)}</code>
            </label>
            <label className="flex items-center gap-1.5">
              <input
                type="radio"
                name="commit"
                className="accent-(--accent)"
                checked={isOther}
                onChange={() => setOther(true)}
              />
              Another branch or commit
            </label>
            {isOther && (
              <TextInput
                aria-label="Branch or commit"
                autoFocus
                className="font-mono"
                placeholder="main"
                value={commit}
                onChange={(event) => setCommit(event.target.value)}
              />
            )}
          </fieldset>
        )}
      </form>
    </Dialog>
  );
}

function depthOf({ path }: StepInfo): number {
  return path.split(".").length - 1;
}
