import { ChevronDown, ChevronRight } from "lucide-react";
import { Loading } from "@/ui/feedback";
import { PatchText } from "@/ui/patch-text";

type FilePatchProps = {
  title: string;
  file: { status: string; added: number | null; removed: number | null };
  /** What is known of the changed lines. */
  patch: { data: { text: string; is_binary: boolean; is_cut: boolean } | undefined; error: Error | null };
  isOpen: boolean;
  onToggle: () => void;
};

/** A changed file in a line, which opens to its changed lines. */
export function FilePatch({ title, file: { status, added, removed }, patch, isOpen, onToggle }: FilePatchProps) {
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    <>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={onToggle}
        className="flex min-h-6 w-full items-center gap-2 rounded-md text-left text-sm hover:bg-hover"
      >
        <Chevron className="size-3.5 shrink-0 text-muted" aria-hidden />
        <span className="min-w-0 truncate font-mono">{title}</span>
        {status !== "modified" && <span className="text-muted">{status.replaceAll("_", " ")}</span>}
        <span className="flex-1" />
        {added !== null && <span className="text-passed tabular">+{added}</span>}
        {removed !== null && <span className="text-failed tabular">−{removed}</span>}
      </button>
      {isOpen && (
        <div className="mt-1">
          {patch.error ? (
            <p className="text-failed">{patch.error.message}</p>
          ) : !patch.data ? (
            <Loading />
          ) : patch.data.is_binary ? (
            <p className="text-muted">Binary file</p>
          ) : (
            <PatchText text={patch.data.text} isCut={patch.data.is_cut} />
          )}
        </div>
      )}
    </>
  );
}
