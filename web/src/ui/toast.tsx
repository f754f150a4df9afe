import { CircleAlert, CircleCheck, Info, X } from "lucide-react";
import { useEffect, useSyncExternalStore } from "react";
import { IconButton } from "@/ui/button";
import { classNames } from "@/ui/class-names";

type ToastTone = "info" | "good" | "bad";
type ToastAction = { label: string; onSelect: () => void };
type Toast = { id: number; tone: ToastTone; text: string; action?: ToastAction };

const SHOWN_SECONDS = 7;
const MOST = 4;

let toasts: readonly Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Tell something in passing. The same text twice is told once. */
export function toast(text: string, tone: ToastTone = "info", action?: ToastAction): void {
  const others = toasts.filter((each) => each.text !== text);
  change([...others, { id: nextId++, tone, text, action }].slice(-MOST));
}

function dismiss(id: number): void {
  change(toasts.filter((each) => each.id !== id));
}

const ICONS = { info: Info, good: CircleCheck, bad: CircleAlert };
const COLOURS = { info: "text-running", good: "text-passed", bad: "text-failed" };

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div
      aria-live="polite"
      role="log"
      aria-label="Messages"
      className="fixed right-4 bottom-4 z-70 flex w-84 max-w-[90vw] flex-col gap-2"
    >
      {shown.map((each) => (
        <ToastCard key={each.id} toast={each} />
      ))}
    </div>
  );
}

function ToastCard({ toast: { id, tone, text, action } }: { toast: Toast }) {
  useEffect(() => {
    const timer = setTimeout(() => dismiss(id), SHOWN_SECONDS * 1000);
    return () => clearTimeout(timer);
  }, [id]);
  const Icon = ICONS[tone];
  return (
    <div className="rise flex items-start gap-2 rounded-lg border border-line bg-surface py-2 pr-1 pl-3 shadow-pop">
      <Icon className={classNames("mt-1 size-4 shrink-0", COLOURS[tone])} aria-hidden />
      <div className="min-w-0 flex-1 py-0.5">
        <p className="break-words">{text}</p>
        {action && (
          <button
            type="button"
            className="font-medium text-accent hover:underline"
            onClick={() => {
              action.onSelect();
              dismiss(id);
            }}
          >
            {action.label}
          </button>
        )}
      </div>
      <IconButton label="Dismiss" size="sm" onClick={() => dismiss(id)}>
        <X className="size-3.5" />
      </IconButton>
    </div>
  );
}
