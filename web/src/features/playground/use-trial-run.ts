import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { useRequestKey } from "@/api/request-key";
import type { Connection } from "@/api/sse";
import { trialApi } from "@/api/trial-client";
import { trialKey, useRefreshTrials } from "@/api/trial-queries";
import type { NewTrialForm, TrialInfo } from "@/api/types";
import { useContinuous } from "@/features/playground/use-continuous";

type TrialRunProps = {
  repo: string;
  /** What is to be tried; null while something is missing. */
  request: NewTrialForm | null;
  /** US dollars that continuous mode may spend in an hour. */
  limit: number;
  connection: Connection;
  onShow: (trials: readonly string[]) => void;
};

/** Starts the trials of the form: when the user says so, and in continuous mode. */
export function useTrialRun({ repo, request, limit, connection, onShow }: TrialRunProps) {
  const client = useQueryClient();
  const [isTried, setTried] = useState(false);
  const [isStarting, setStarting] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const refresh = useRefreshTrials(repo);
  const keyOf = useRequestKey();
  const count = useRef(0); // of what was started: the same prompt can be tried again

  const start = async (wanted: NewTrialForm, key: string): Promise<TrialInfo[]> => {
    const made = await trialApi.create(wanted, key);
    for (const trial of made) client.setQueryData([...trialKey(trial.id), "detail"], trial);
    onShow(made.map(({ id }) => id));
    void refresh();
    return made;
  };
  const continuous = useContinuous({
    request,
    limit,
    connection,
    onTry: (wanted) => start(wanted, crypto.randomUUID()),
  });
  /** Whether the trials were started. */
  const run = async (): Promise<boolean> => {
    setTried(true);
    if (request === null || isStarting) return false;
    setStarting(true);
    setProblem(null);
    try {
      continuous.note(await start(request, keyOf({ request, count: count.current })));
      count.current += 1;
      return true;
    } catch (error) {
      setProblem((error as Error).message);
      return false;
    } finally {
      setStarting(false);
    }
  };
  return { isTried, isStarting, problem, clearProblem: () => setProblem(null), continuous, run };
}
