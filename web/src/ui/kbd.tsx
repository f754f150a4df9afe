import { classNames } from "@/ui/class-names";

const SIGNS: Record<string, string> = { ArrowRight: "→", ArrowLeft: "←", Shift: "⇧" };

export function Kbd({ keys, isInverse }: { keys: string; isInverse?: boolean }) {
  return (
    <kbd
      className={classNames(
        "whitespace-nowrap rounded-sm border px-1 font-mono text-xs",
        isInverse ? "border-canvas/40" : "border-line-strong bg-sunken text-muted",
      )}
    >
      {keys
        .split("+")
        .map((key) => SIGNS[key] ?? key)
        .join(keys.startsWith("Shift+F") ? "" : "+")}
    </kbd>
  );
}
