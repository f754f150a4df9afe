import { useState } from "react";
import { type CallAnswer, titleOfPlace, useRun } from "@/api/run-context";
import type { StopInfo } from "@/api/types";
import { changedInput, editableInput } from "@/core/call-input";
import { outputOf } from "@/features/agent/call-stop";
import { Field, TextArea } from "@/ui/field";
import { FormDialog } from "@/ui/form-dialog";
import { toast } from "@/ui/toast";

type CallDialogProps = { how: CallAnswer; stop: StopInfo; onClose: () => void };

/** The answers to a tool call that need words. */
export function CallDialog({ how, stop, onClose }: CallDialogProps) {
  switch (how) {
    case "edit":
      return <EditInput stop={stop} onClose={onClose} />;
    case "refuse":
      return <Refuse stop={stop} onClose={onClose} />;
    case "result":
      return <GiveResult stop={stop} onClose={onClose} />;
    case "inject":
      return <InjectCommand stop={stop} onClose={onClose} />;
  }
}

type AnswerProps = { stop: StopInfo; onClose: () => void };

function EditInput({ stop, onClose }: AnswerProps) {
  const { act, pending } = useRun("act", "pending");
  const input = stop.call?.input ?? {};
  const [texts, setTexts] = useState(() => editableInput(input));
  const { changed, problems } = changedInput(input, texts);
  const send = async () => {
    const isChanged = Object.keys(changed).length > 0;
    if (isChanged && !(await act("config", { stop: stop.id, config: changed }))) return;
    if (await act("continue", { stop: stop.id })) onClose();
  };
  return (
    <FormDialog
      title="Edit the input of the call"
      action="Allow with changes"
      width={640}
      isBusy={pending !== null}
      isBlocked={Object.keys(problems).length > 0}
      onSubmit={send}
      onClose={onClose}
    >
      {Object.keys(input).length === 0 && <p className="text-muted">This call has no input.</p>}
      {Object.entries(texts).map(([name, text]) => (
        <Field
          key={name}
          label={name}
          hint={typeof input[name] === "string" ? undefined : "JSON"}
          problem={problems[name]}
        >
          {(ids) => (
            <TextArea
              {...ids}
              rows={rowsFor(text)}
              value={text}
              onChange={(event) => setTexts({ ...texts, [name]: event.target.value })}
            />
          )}
        </Field>
      ))}
    </FormDialog>
  );
}

function Refuse({ stop, onClose }: AnswerProps) {
  const { act, pending } = useRun("act", "pending");
  const [reason, setReason] = useState("");
  const send = async () => {
    if (await act("skip", { stop: stop.id, message: reason.trim() || null })) onClose();
  };
  return (
    <FormDialog title="Refuse the call" action="Refuse" isBusy={pending !== null} onSubmit={send} onClose={onClose}>
      <Field label="Reason" hint="The agent is told this and continues.">
        {(ids) => (
          <TextArea
            {...ids}
            rows={3}
            placeholder="The user refused this tool call."
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}

function GiveResult({ stop, onClose }: AnswerProps) {
  const { act, pending } = useRun("act", "pending");
  const [text, setText] = useState(() => outputOf(stop));
  const send = async () => {
    if (await act("force", { stop: stop.id, status: "passed", outputs: { output: text } })) onClose();
  };
  const hints = {
    before: "The call is not made. The agent is told this text instead.",
    after: "The agent is told this text instead of the result.",
    error: "The agent is told this text instead of the error; some agents are told the error as well.",
  };
  return (
    <FormDialog
      title={stop.position === "before" ? "Give a result" : "Replace the result"}
      action={stop.position === "before" ? "Give result" : "Replace"}
      width={640}
      isBusy={pending !== null}
      onSubmit={send}
      onClose={onClose}
    >
      <Field label="Result" hint={hints[stop.position]}>
        {(ids) => (
          <TextArea {...ids} rows={rowsFor(text, 6)} value={text} onChange={(event) => setText(event.target.value)} />
        )}
      </Field>
    </FormDialog>
  );
}

function InjectCommand({ stop, onClose }: AnswerProps) {
  const { act, pending, detail } = useRun("act", "pending", "detail");
  const [script, setScript] = useState("");
  const send = async () => {
    const step = { uses: "run", with: { script } };
    if (!(await act("inject", { stop: stop.id, step, position: "before" }))) return;
    toast(`Will run before ${titleOfPlace(detail, stop.step, stop.call)}`, "good");
    onClose();
  };
  return (
    <FormDialog
      title="Inject a shell step"
      action="Inject"
      isBusy={pending !== null}
      isBlocked={script.trim() === ""}
      onSubmit={send}
      onClose={onClose}
    >
      <Field label="Script" hint="It runs in the workspace when you answer the call, before the call is made.">
        {(ids) => <TextArea {...ids} rows={4} value={script} onChange={(event) => setScript(event.target.value)} />}
      </Field>
    </FormDialog>
  );
}

const MOST_ROWS = 16;

function rowsFor(text: string, least = 2): number {
  return Math.min(MOST_ROWS, Math.max(least, text.split("\n").length + 1));
}
