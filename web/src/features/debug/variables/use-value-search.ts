import { useCallback, useEffect, useRef, useState } from "react";
import { runPath, urlOf } from "@/api/url";
import type { SearchAnswer, SearchQuestion } from "@/features/debug/variables/search.worker";

/** The values of a stop that have the text in them; null without a text, and until the first answer. */
export function useValueSearch(run: string, stop: number, edited: number, text: string) {
  const worker = useRef<Worker | null>(null);
  const asked = useRef(0);
  const [answer, setAnswer] = useState<SearchAnswer | null>(null);

  useEffect(() => () => worker.current?.terminate(), []);
  const ask = useCallback(
    (wanted: string) => {
      if (!worker.current) {
        worker.current = new Worker(new URL("./search.worker.ts", import.meta.url), { type: "module" });
        worker.current.addEventListener("message", ({ data }: MessageEvent<SearchAnswer>) => {
          if (data.id === asked.current) setAnswer(data);
        });
      }
      const url = urlOf(runPath(run, "/debug/scope"), { stop });
      const question: SearchQuestion = { id: ++asked.current, url, version: `${run} ${stop} ${edited}`, text: wanted };
      worker.current.postMessage(question);
    },
    [run, stop, edited],
  );
  useEffect(() => {
    if (text) ask(text);
    else setAnswer(null);
  }, [ask, text]);

  /** Have the scope at hand before there is anything to look for. */
  const prepareSearch = useCallback(() => {
    if (!text) ask("");
  }, [ask, text]);

  return { found: text ? answer : null, prepareSearch };
}
