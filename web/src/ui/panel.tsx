import type { ReactNode } from "react";
import { classNames } from "@/ui/class-names";

/** The row at the top of a panel: what is looked for in it, and what can be done with all of it. */
export function PanelBar({ children, className, wraps = false }: PanelBarProps) {
  return (
    <div
      className={classNames(
        "flex shrink-0 items-center border-line border-b p-1.5",
        wraps && "flex-wrap",
        className ?? "gap-1.5",
      )}
    >
      {children}
    </div>
  );
}

type PanelBarProps = { children: ReactNode; className?: string; wraps?: boolean };

/** One of a few that can be chosen, and that looks chosen. */
export function Choice({ isChosen, isDisabled = false, onChoose, children, title }: ChoiceProps) {
  return (
    <button
      type="button"
      aria-pressed={isChosen}
      title={title}
      disabled={isDisabled}
      onClick={onChoose}
      className="flex items-center gap-1.5 rounded-md border border-line px-2 py-0.5 text-sm hover:bg-hover disabled:pointer-events-none disabled:opacity-45 aria-pressed:border-accent aria-pressed:bg-accent-soft"
    >
      {children}
    </button>
  );
}

type ChoiceProps = {
  isChosen: boolean;
  isDisabled?: boolean;
  onChoose: () => void;
  children: ReactNode;
  title?: string;
};

/** A part of a panel under a title of its own. */
export function Section({ title, level = 3, children }: { title: string; level?: 3 | 4; children: ReactNode }) {
  const Heading = level === 3 ? "h3" : "h4";
  return (
    <section>
      <Heading className="mb-1 font-semibold text-muted text-sm">{title}</Heading>
      {children}
    </section>
  );
}

/** Names and what they stand for, one below the other; a name without a value is left out. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  const told = facts.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-0.5 tabular">
      {told.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0 break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
