import { useState } from "react";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Checkbox, TextField } from "@/ui/field";

type CommitDialogProps = {
  commit: string;
  onRun: (how: { commit: string; stops: boolean }) => Promise<string | null>;
  onClose: () => void;
};

/** The same flow on another commit: which one. What the server refuses is told where it was written. */
export function CommitDialog({ commit, onRun, onClose }: CommitDialogProps) {
  const [text, setText] = useState(commit);
  const [stops, setStops] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    setProblem(await onRun({ commit: text.trim(), stops }));
    setBusy(false);
  };
  return (
    <Dialog
      title="Re-run on another commit"
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form="commit-form" isBusy={isBusy} disabled={text.trim() === ""}>
            Run
          </Button>
        </>
      }
    >
      <form
        id="commit-form"
        className="space-y-3"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <TextField
          label="Commit, branch or tag"
          hint="It is checked out into a fresh workspace."
          problem={problem}
          autoFocus
          className="font-mono"
          placeholder="main"
          value={text}
          onText={setText}
        />
        <Checkbox label="Pause on first step" checked={stops} onChange={(event) => setStops(event.target.checked)} />
      </form>
    </Dialog>
  );
}
