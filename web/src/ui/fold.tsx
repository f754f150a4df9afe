import { ChevronDown, ChevronRight } from "lucide-react";
import { type ReactNode, useState } from "react";
import { classNames } from "@/ui/class-names";

type FoldProps = {
  /** What is always seen, in the columns behind the chevron. */
  summary: ReactNode;
  /** The columns and the padding of that row. */
  look: string;
  /** What is drawn while it is open. */
  children: ReactNode;
  /** Around that. */
  inside: string;
};

/** A row that opens to more of the same thing. */
export function Fold({ summary, look, children, inside }: FoldProps) {
  const [isOpen, setOpen] = useState(false);
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    <>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className={classNames(
          "grid w-full items-center gap-x-2 py-1.5 text-left hover:bg-hover focus-visible:-outline-offset-2",
          look,
        )}
      >
        <Chevron className="size-3.5 text-muted" aria-hidden />
        {summary}
      </button>
      {isOpen && <div className={classNames("border-line border-t bg-sunken/50 py-3", inside)}>{children}</div>}
    </>
  );
}
