import { classNames } from "@/ui/class-names";

type SwitchProps = { label: string; isOn: boolean; isDisabled?: boolean; onChange: (isOn: boolean) => void };

/** Something that is on or off, and takes effect at once. */
export function Switch({ label, isOn, isDisabled = false, onChange }: SwitchProps) {
  return (
    <button
      type="button"
      role="switch"
      aria-checked={isOn}
      aria-label={label}
      title={label}
      disabled={isDisabled}
      onClick={() => onChange(!isOn)}
      className="inline-flex h-6 w-9 shrink-0 items-center justify-center disabled:opacity-45"
    >
      <span
        className={classNames(
          "flex h-4.5 w-8 items-center rounded-full p-0.5 transition-colors",
          isOn ? "bg-accent" : "bg-line-strong",
        )}
      >
        <span
          className={classNames("size-3.5 rounded-full bg-surface transition-transform", isOn && "translate-x-3.5")}
        />
      </span>
    </button>
  );
}
