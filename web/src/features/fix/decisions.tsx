import { SquareTerminal } from "lucide-react";
import { useState } from "react";
import { useRun } from "@/api/run-context";
import type { DecideForm, StopInfo } from "@/api/types";
import type { FixView } from "@/core/fix-view";
import { treeWords, verdictWords } from "@/features/fix/fix-words";
import { Button } from "@/ui/button";
import { Field, Select, TextArea } from "@/ui/field";
import { FormDialog } from "@/ui/form-dialog";

type Choice = DecideForm["choice"];
type Asked = "guide" | "roll_back" | "skip";

/** The five ways to continue where a fix loop gave up. */
export function Decisions({ stop, fix }: { stop: StopInfo; fix: FixView }) {
  const { act, pending, confirm, openShell, selectFrame } = useRun(
    "act",
    "pending",
    "confirm",
    "openShell",
    "selectFrame",
  );
  const [asked, setAsked] = useState<Asked | null>(null);
  const [sent, setSent] = useState<Choice | null>(null);
  const can = stop.allowed.includes("decide") && pending === null;
  const decide = async (choice: Choice, text = "") => {
    setSent(choice);
    if (await act("decide", { stop: stop.id, choice, text })) setAsked(null);
    setSent(null);
  };
  const button = (choice: Choice) => ({ disabled: !can, isBusy: pending === "decide" && sent === choice });
  const isTakenOver = fix.state === "taken_over";
  return (
    <>
      {isTakenOver && <p>Repair it in a shell, then continue: the tests run again.</p>}
      <div role="group" aria-label="Ways to continue" className="flex flex-wrap gap-1.5">
        {isTakenOver ? (
          <>
            <Button
              look="primary"
              disabled={pending !== null}
              isBusy={pending === "continue"}
              onClick={() => act("continue", { stop: stop.id })}
            >
              Continue
            </Button>
            <Button
              icon={<SquareTerminal className="size-3.5" />}
              onClick={() => {
                selectFrame(stop.frame);
                openShell("shell");
              }}
            >
              Open shell
            </Button>
          </>
        ) : (
          <Button
            {...button("take_over")}
            title="The run stays paused while you repair it yourself"
            onClick={() => decide("take_over")}
          >
            Take over
          </Button>
        )}
        <Button {...button("guide")} title="Start another round with your guidance" onClick={() => setAsked("guide")}>
          Guide…
        </Button>
        <Button {...button("roll_back")} title="Put the files back as they were" onClick={() => setAsked("roll_back")}>
          Roll back…
        </Button>
        <Button {...button("skip")} title="Pass the step as a known issue" onClick={() => setAsked("skip")}>
          Skip…
        </Button>
        <Button
          look="danger"
          {...button("stop")}
          onClick={() =>
            confirm({
              title: "Stop the fix loop?",
              text: "The step ends as escalated. The reports, the commits and the files are kept.",
              action: "Stop",
              onConfirm: () => void decide("stop"),
            })
          }
        >
          Stop…
        </Button>
      </div>
      {asked === "roll_back" && (
        <RollBack fix={fix} isBusy={!can} onSend={(to) => decide(asked, to)} onClose={() => setAsked(null)} />
      )}
      {(asked === "guide" || asked === "skip") && (
        <Words of={asked} isBusy={!can} onSend={(text) => decide(asked, text)} onClose={() => setAsked(null)} />
      )}
    </>
  );
}

type AskedProps = { isBusy: boolean; onSend: (text: string) => void; onClose: () => void };

const WORDS = {
  guide: {
    title: "Guide the agents",
    action: "Start another round",
    label: "Guidance",
    hint: "It comes first in the prompts of the next round, which has iterations of its own.",
  },
  skip: {
    title: "Skip the step",
    action: "Skip",
    label: "Reason",
    hint: "The step passes as a known issue, and the run continues.",
  },
};

function Words({ of, isBusy, onSend, onClose }: AskedProps & { of: keyof typeof WORDS }) {
  const [text, setText] = useState("");
  const { title, action, label, hint } = WORDS[of];
  const send = () => onSend(text.trim());
  return (
    <FormDialog
      title={title}
      action={action}
      isBusy={isBusy}
      isBlocked={text.trim() === ""}
      onSubmit={send}
      onClose={onClose}
    >
      <Field label={label} hint={hint} isRequired>
        {(ids) => (
          <TextArea
            {...ids}
            rows={4}
            maxLength={16_384}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}

const START = "base";

function RollBack({ fix, isBusy, onSend, onClose }: AskedProps & { fix: FixView }) {
  const [to, setTo] = useState(START);
  const changed = fix.iterations.filter((each) => each.change?.commit && !each.change.refused);
  return (
    <FormDialog title="Roll back" action="Roll back" isBusy={isBusy} onSubmit={() => onSend(to)} onClose={onClose}>
      <Field label="To" hint="The files and the branch become as they were there.">
        {(ids) => (
          <Select {...ids} value={to} onChange={(event) => setTo(event.target.value)}>
            <option value={START}>{treeWords(0)}, before any fix</option>
            {changed.map(({ n, judged }) => (
              <option key={n} value={n}>
                {[treeWords(n), judged && verdictWords(judged.verdict)[0]].filter(Boolean).join(": ")}
              </option>
            ))}
          </Select>
        )}
      </Field>
    </FormDialog>
  );
}
