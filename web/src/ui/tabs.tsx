import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef } from "react";
import { Boundary } from "@/ui/boundary";
import { classNames } from "@/ui/class-names";

export type Tab<Id extends string> = { id: Id; label: string; icon?: ReactNode; mark?: ReactNode };

type TabsProps<Id extends string> = {
  label: string;
  tabs: readonly Tab<Id>[];
  active: Id;
  onChange: (id: Id) => void;
  children: ReactNode;
  /** What stands at the end of the row. */
  extra?: ReactNode;
};

/** A row of tabs and what the active one shows. Arrow keys move along the row. */
export function Tabs<Id extends string>({ label, tabs, active, onChange, children, extra }: TabsProps<Id>) {
  const base = useId();
  const row = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab is active, and may be out of sight
  useEffect(() => {
    const list = row.current;
    if (!list) return;
    const bringIntoView = () => {
      const tab = list.querySelector("[aria-selected=true]")?.getBoundingClientRect();
      const { left, right } = list.getBoundingClientRect();
      if (tab) list.scrollLeft += Math.min(0, tab.left - left) || Math.max(0, tab.right - right); // not the page
    };
    const resized = new ResizeObserver(bringIntoView); // also called at once
    resized.observe(list);
    return () => resized.disconnect();
  }, [active]);
  const move = (event: KeyboardEvent) => {
    const at = tabs.findIndex((tab) => tab.id === active);
    const steps: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 };
    const to = steps[event.key];
    const next = to === undefined ? undefined : tabs[(to + tabs.length) % tabs.length];
    if (!next) return;
    event.preventDefault();
    onChange(next.id);
    row.current?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
  };
  return (
    <div className="flex h-full min-h-0 min-w-0 flex-col">
      <div className="flex h-9 shrink-0 items-stretch border-line border-b bg-surface pr-1">
        <div
          ref={row}
          role="tablist"
          aria-label={label}
          onKeyDown={move}
          className="flex min-w-0 flex-1 items-stretch overflow-x-auto px-1 [scrollbar-width:none]"
        >
          {tabs.map((tab) => (
            <button
              key={tab.id}
              type="button"
              role="tab"
              id={`${base}-${tab.id}`}
              data-tab={tab.id}
              aria-selected={tab.id === active}
              aria-controls={`${base}-panel`}
              tabIndex={tab.id === active ? 0 : -1}
              onClick={() => onChange(tab.id)}
              className={classNames(
                "relative flex items-center gap-1.5 whitespace-nowrap px-1.5 font-medium text-sm transition-colors focus-visible:-outline-offset-2",
                tab.id === active
                  ? "text-text after:absolute after:inset-x-1.5 after:bottom-0 after:h-0.5 after:rounded-full after:bg-accent"
                  : "text-muted hover:text-text",
              )}
            >
              {tab.icon}
              {tab.label}
              {tab.mark}
            </button>
          ))}
        </div>
        {extra && <div className="flex items-center gap-1 pl-1">{extra}</div>}
      </div>
      <div role="tabpanel" id={`${base}-panel`} aria-labelledby={`${base}-${active}`} className="min-h-0 flex-1">
        <Boundary resetOn={active}>{children}</Boundary>
      </div>
    </div>
  );
}

export function Count({ value, tone = "neutral" }: { value: number; tone?: "neutral" | "failed" | "paused" }) {
  if (value === 0) return null;
  const look = {
    neutral: "bg-sunken text-muted",
    failed: "bg-failed-soft text-failed",
    paused: "bg-paused-soft text-paused",
  };
  return <span className={classNames("rounded-full px-1 text-xs tabular", look[tone])}>{value}</span>;
}
