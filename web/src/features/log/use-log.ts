import { useEffect, useState } from "react";
import { ApiError, api } from "@/api/client";
import { LogBuffer } from "@/core/log-buffer";

const PAGE = 5000;
const QUICK = 150; // while lines come
const SLOW = 1000; // while none do

export type LogState = { buffer: LogBuffer; length: number; isLoading: boolean; error: Error | null };

/** The log of an occurrence: all of it so far, then what is new as it is written, until `isWriting` ends. */
export function useLog(run: string, occurrence: string, isWriting: boolean): LogState {
  const [state, setState] = useState<LogState>(() => empty());

  useEffect(() => {
    const leaving = new AbortController();
    const buffer = new LogBuffer();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let pause = QUICK;
    setState({ buffer, length: 0, isLoading: true, error: null });

    const read = async () => {
      try {
        const page = await api.log(run, { occurrence, after: buffer.lastNumber, limit: PAGE }, leaving.signal);
        buffer.addLines(page.lines);
        setState((now) =>
          now.buffer === buffer && now.length === buffer.length && !now.isLoading && !now.error
            ? now
            : { buffer, length: buffer.length, isLoading: false, error: null },
        );
        pause = page.lines.length > 0 ? QUICK : Math.min(SLOW, pause * 2);
        if (page.next !== null) timer = setTimeout(read, 0);
        else if (isWriting) timer = setTimeout(read, pause);
      } catch (error) {
        if (leaving.signal.aborted) return;
        if (error instanceof ApiError && error.isPassing) timer = setTimeout(read, SLOW);
        else setState({ buffer, length: buffer.length, isLoading: false, error: error as Error });
      }
    };
    void read();
    return () => {
      leaving.abort();
      clearTimeout(timer);
    };
  }, [run, occurrence, isWriting]);

  return state;
}

function empty(): LogState {
  return { buffer: new LogBuffer(), length: 0, isLoading: true, error: null };
}
