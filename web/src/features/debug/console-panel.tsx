import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { ApiError, api } from "@/api/client";
import { useRun } from "@/api/run-context";
import type { VariableInfo } from "@/api/types";
import { wordsOf } from "@/core/addresses";
import { formatPath, parsePath, splitForCompletion } from "@/core/json-path";
import { tellPlace, tellReasons } from "@/core/status";
import { formatClock } from "@/core/time";
import { classNames } from "@/ui/class-names";
import { JsonText } from "@/ui/json-text";
import { readSetting, writeSetting } from "@/ui/settings";

type Line = { id: number; kind: "asked" | "answer" | "error" | "log" | "event"; value: unknown; at: number };

const MOST_LINES = 500;
const MOST_KEPT = 100;
let nextId = 1;

/** jq at the stop: what is asked and answered, what logpoints wrote, and what the debugger did. */
export function ConsolePanel({ isShown }: { isShown: boolean }) {
  const { run, stop } = useRun("run", "stop");
  const [lines, setLines] = useState<Line[]>([]);
  const [text, setText] = useState("");
  const [asked, setAsked] = useState(() => readSetting<string[]>("console", []));
  const [at, setAt] = useState<number | null>(null);
  const [offers, setOffers] = useState<VariableInfo[]>([]);
  const [chosen, setChosen] = useState(0);
  const offering = useRef(0); // the text that was written last: offers for another one come too late
  const box = useRef<HTMLDivElement>(null);
  const add = (kind: Line["kind"], value: unknown) =>
    setLines((now) => [...now, { id: nextId++, kind, value, at: Date.now() / 1000 }].slice(-MOST_LINES));

  // biome-ignore lint/correctness/useExhaustiveDependencies: `add` needs nothing of the render it was made in
  useEffect(
    () =>
      run.hear((event) => {
        if (event.kind === "debug.logged") add("log", event.message);
        else if (event.kind === "debug.stopped")
          add(
            "event",
            `paused ${tellPlace(event.position, wordsOf(event.step), event.reasons)} (${tellReasons(event.reasons)})`,
          );
        else if (event.kind === "run.ended") add("event", `the run ended: ${event.outcome.status}`);
      }),
    [run],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: it scrolls when there is another line to be seen
  useEffect(() => {
    if (isShown && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, isShown]);

  const leaveOffers = () => {
    offering.current++;
    setOffers([]);
  };
  const evaluate = async () => {
    const expression = text.trim();
    if (!expression || !stop) return;
    const next = [...asked.filter((each) => each !== expression), expression].slice(-MOST_KEPT);
    setAsked(next);
    writeSetting("console", next);
    setText("");
    setAt(null);
    leaveOffers();
    add("asked", expression);
    try {
      for (const value of await api.evaluate(run.id, stop.id, expression)) add("answer", value);
    } catch (error) {
      add("error", error instanceof ApiError ? error.message : String(error));
    }
  };
  const offer = async (written: string) => {
    setText(written);
    const split = splitForCompletion(written);
    if (!split || !stop) return leaveOffers();
    const now = ++offering.current;
    const page = await api.variables(run.id, { stop: stop.id, path: split.parent, limit: 50 }).catch(() => null);
    if (now !== offering.current) return;
    const fitting =
      page?.variables.filter((each) => each.name.toLowerCase().startsWith(split.word.toLowerCase())) ?? [];
    setOffers(fitting.slice(0, 8));
    setChosen(0);
  };
  const take = (variable: VariableInfo) => {
    const split = splitForCompletion(text);
    if (!split) return;
    const name = parsePath(variable.path)?.at(-1) ?? variable.name;
    const part = formatPath([name]);
    setText(text.slice(0, split.from) + (split.parent !== "." && part.startsWith(".[") ? part.slice(1) : part));
    leaveOffers();
  };
  const press = (event: KeyboardEvent) => {
    const offered = offers[chosen];
    if (offered && event.key === "Tab") take(offered);
    else if (offered && event.key === "ArrowDown") setChosen((chosen + 1) % offers.length);
    else if (offered && event.key === "ArrowUp") setChosen((chosen + offers.length - 1) % offers.length);
    else if (event.key === "Escape") leaveOffers();
    else if (event.key === "Enter") void evaluate();
    else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      const from = at ?? asked.length;
      const to = Math.min(asked.length, Math.max(0, from + (event.key === "ArrowUp" ? -1 : 1)));
      setAt(to);
      setText(asked[to] ?? "");
    } else return;
    event.preventDefault();
  };
  return (
    <div className="flex h-full flex-col bg-log">
      <div
        ref={box}
        role="log"
        aria-label="Console"
        className="min-h-0 flex-1 overflow-auto px-3 py-2 font-mono text-sm"
      >
        {lines.length === 0 && (
          <p className="font-sans text-muted">
            Enter a jq expression, such as .vars or .steps | keys. Tab completes, the up arrow recalls.
          </p>
        )}
        {lines.map((line) => (
          <ConsoleLine key={line.id} line={line} />
        ))}
      </div>
      <div className="relative flex shrink-0 items-center gap-2 border-line border-t bg-surface px-3">
        {offers.length > 0 && (
          <div
            id="console-offers"
            role="listbox"
            aria-label="Completions"
            className="absolute bottom-full left-8 mb-1 min-w-60 overflow-hidden rounded-md border border-line bg-surface py-1 shadow-pop"
          >
            {offers.map((each, index) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: Tab and the arrow keys do it in the field
              // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the active one
              <div
                key={each.path}
                id={`console-offer-${index}`}
                role="option"
                aria-selected={index === chosen}
                onMouseDown={(event) => event.preventDefault()}
                onClick={() => take(each)}
                className={classNames(
                  "flex cursor-default justify-between gap-4 px-2 font-mono text-sm",
                  index === chosen && "bg-accent-soft",
                )}
              >
                <span>{each.name}</span>
                <span className="max-w-40 truncate text-faint">{each.preview}</span>
              </div>
            ))}
          </div>
        )}
        <span aria-hidden className="text-accent">
          ❯
        </span>
        <input
          className="h-8 min-w-0 flex-1 bg-transparent font-mono text-sm outline-none placeholder:text-faint disabled:opacity-60"
          role="combobox"
          aria-label="jq expression"
          aria-expanded={offers.length > 0}
          aria-controls="console-offers"
          aria-activedescendant={offers.length > 0 ? `console-offer-${chosen}` : undefined}
          autoComplete="off"
          spellCheck={false}
          placeholder={stop ? "jq expression" : "This frame is not paused"}
          disabled={!stop}
          value={text}
          onChange={(event) => void offer(event.target.value)}
          onKeyDown={press}
        />
      </div>
    </div>
  );
}

function ConsoleLine({ line }: { line: Line }) {
  switch (line.kind) {
    case "asked":
      return (
        <p className="mt-1">
          <span className="text-accent">❯</span> {String(line.value)}
        </p>
      );
    case "answer":
      return (
        <JsonText
          value={line.value === undefined ? null : JSON.stringify(line.value, null, 2)}
          className="text-(--ansi-green)"
        />
      );
    case "error":
      return <p className="whitespace-pre-wrap text-failed">{String(line.value)}</p>;
    case "log":
      return (
        <p>
          <span className="text-faint">{formatClock(line.at)}</span> <span className="text-breakpoint">◆</span>{" "}
          {String(line.value)}
        </p>
      );
    case "event":
      return (
        <p className="text-faint">
          {formatClock(line.at)} {String(line.value)}
        </p>
      );
  }
}
