import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "@/api/client";
import { useRun, useRunValue } from "@/api/run-context";
import type { Question } from "@/api/types";
import { Button } from "@/ui/button";
import { TextInput } from "@/ui/field";
import { toast } from "@/ui/toast";

/** What steps want to know from a person, above everything else on the page. */
export function Questions() {
  const { run, detail, isLive } = useRun("run", "detail", "isLive");
  const canAsk = detail.flow_info.steps.some((step) => step.kind === "approve");
  const steps = useRunValue(({ view }) => (canAsk ? view.steps.size + view.ended : 0));
  const questions = useQuery({
    queryKey: ["questions", run.id, steps],
    queryFn: () => api.questions(run.id),
    enabled: isLive && canAsk,
    placeholderData: (kept) => kept,
    refetchInterval: isLive && canAsk ? 2000 : false,
  });
  if (!isLive) return null;
  return questions.data?.map((question) => (
    <Asked key={question.occurrence} question={question} onAnswered={() => questions.refetch()} />
  ));
}

function Asked({ question, onAnswered }: { question: Question; onAnswered: () => void }) {
  const { run, isViewer } = useRun("run", "isViewer");
  const [comment, setComment] = useState("");
  const answer = (approved: boolean) =>
    api
      .answer(run.id, question.occurrence, approved, comment)
      .then(onAnswered, (error: Error) => toast(error.message, "bad"));
  return (
    <form
      aria-label="Approval"
      className="flex flex-wrap items-center gap-2 border-line border-b bg-accent-soft px-3 py-2"
      onSubmit={(event) => {
        event.preventDefault();
        void answer(true);
      }}
    >
      <span className="min-w-0 flex-1">
        <span className="text-muted">{question.occurrence} asks:</span>{" "}
        <strong className="font-semibold">{question.prompt}</strong>
      </span>
      {!isViewer && (
        <>
          <TextInput
            aria-label="Comment"
            placeholder="Comment (optional)"
            className="max-w-60"
            value={comment}
            onChange={(event) => setComment(event.target.value)}
          />
          <Button type="submit" look="primary">
            Approve
          </Button>
          <Button look="danger" onClick={() => answer(false)}>
            Reject
          </Button>
        </>
      )}
    </form>
  );
}
