import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "@/api/client";
import { parseValue } from "@/features/debug/variables/value-editor";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Failed, Loading } from "@/ui/feedback";
import { TextArea } from "@/ui/field";

type ValueDialogProps = {
  run: string;
  stop: number;
  path: string;
  onSave: (value: unknown) => void;
  onClose: () => void;
};

/** A value that is too much for one line, as JSON or as text. */
export function ValueDialog({ run, stop, path, onSave, onClose }: ValueDialogProps) {
  const value = useQuery({
    queryKey: ["value", run, stop, path],
    queryFn: async () => (await api.evaluate(run, stop, path))[0],
    gcTime: 0,
  });
  const [edited, setEdited] = useState<string | null>(null);
  const text = edited ?? (typeof value.data === "string" ? value.data : JSON.stringify(value.data, null, 2));
  const isText = typeof value.data === "string";
  const parsed = isText ? { value: text, isJson: false } : parseValue(text ?? "");
  return (
    <Dialog
      title={`Edit ${path}`}
      isOpen
      onClose={onClose}
      footer={
        <>
          <span className="mr-auto text-muted text-sm">{parsed.isJson ? "JSON" : "plain text"}</span>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form="value-form" disabled={value.data === undefined}>
            Set
          </Button>
        </>
      }
    >
      {value.error ? (
        <Failed error={value.error} onRetry={() => value.refetch()} />
      ) : value.isPending ? (
        <Loading label="Loading value" />
      ) : (
        <form
          id="value-form"
          onSubmit={(event) => {
            event.preventDefault();
            onSave(parsed.value);
          }}
        >
          <TextArea
            autoFocus
            aria-label={`New value of ${path}`}
            rows={Math.min(18, Math.max(4, (text ?? "").split("\n").length + 1))}
            className="font-mono"
            value={text ?? ""}
            onChange={(event) => setEdited(event.target.value)}
          />
        </form>
      )}
    </Dialog>
  );
}
