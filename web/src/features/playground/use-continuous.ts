import { useEffect, useRef, useState } from "react";
import type { Connection } from "@/api/sse";
import { trialApi } from "@/api/trial-client";
import { useTrialsById } from "@/api/trial-queries";
import type { NewTrialForm, TrialInfo } from "@/api/types";
import { nextMove, QUIET_MILLISECONDS, type StartedTrial } from "@/core/continuous";
import { useDebounced } from "@/ui/hooks";

type ContinuousProps = {
  /** What is to be tried; null while something is missing. */
  request: NewTrialForm | null;
  /** US dollars that may be spent in an hour. */
  limit: number;
  connection: Connection;
  onTry: (request: NewTrialForm) => Promise<readonly TrialInfo[]>;
};

const HIDDEN = "Continuous mode was switched off because this tab was hidden.";

/** Tries the request again after each change, as `nextMove` decides. */
export function useContinuous({ request, limit, connection, onTry }: ContinuousProps) {
  const [isOn, setOn] = useState(false);
  const [notice, setNotice] = useState<string | null>(null);
  const [current, setCurrent] = useState<readonly string[]>([]);
  const [, wake] = useState(0);
  const body = JSON.stringify(request);
  const settled = useDebounced(body, QUIET_MILLISECONDS);
  const tried = useRef(body);
  const started = useRef(new Map<string, StartedTrial>());
  const cancelled = useRef(new Set<string>());
  const isStarting = useRef(false);
  const trials = useTrialsById(current, connection);
  for (const { data } of trials) if (data) started.current.set(data.id, data);

  const stop = (reason: string | null) => {
    setOn(false);
    setNotice(reason);
  };
  const note = (made: readonly TrialInfo[], text: string) => {
    tried.current = text;
    for (const trial of made) started.current.set(trial.id, trial);
    setCurrent(made.map(({ id }) => id));
  };
  const start = async (wanted: NewTrialForm) => {
    isStarting.current = true;
    try {
      note(await onTry(wanted), JSON.stringify(wanted));
    } catch (error) {
      stop(`Continuous mode was switched off: ${(error as Error).message}`);
    } finally {
      isStarting.current = false;
      wake((count) => count + 1);
    }
  };
  const cancel = async (ids: readonly string[]) => {
    for (const id of ids) cancelled.current.add(id);
    // It is refused for one that has just ended; any other failure is tried again
    await Promise.all(ids.map((id) => trialApi.cancel(id).catch(() => cancelled.current.delete(id))));
  };

  useEffect(() => {
    if (!isOn || request === null || isStarting.current || settled !== body || tried.current === body) return;
    const move = nextMove({
      count: request.profiles.length,
      started: [...started.current.values()],
      cancelled: cancelled.current,
      limit,
      now: Date.now() / 1000,
    });
    switch (move.kind) {
      case "start":
        return void start(request);
      case "cancel":
        return void cancel(move.trials);
      case "stop":
        return stop(move.reason);
      case "wait": {
        if (move.seconds === null) return;
        const timer = setTimeout(() => wake((count) => count + 1), move.seconds * 1000 + 1);
        return () => clearTimeout(timer);
      }
    }
  });
  useEffect(() => {
    if (!isOn) return;
    const look = () => document.hidden && stop(HIDDEN);
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  });
  return {
    isOn,
    notice,
    /** Whether a change is still to be tried. */
    isPending: isOn && request !== null && tried.current !== body,
    note: (made: readonly TrialInfo[]) => note(made, body),
    change: (on: boolean) => {
      tried.current = body; // the next change is tried, and not what is there
      stop(null);
      setOn(on);
    },
  };
}
