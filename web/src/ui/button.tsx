import { LoaderCircle } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";
import { classNames } from "@/ui/class-names";
import { tip } from "@/ui/tooltip";

type Look = "plain" | "primary" | "quiet" | "danger";

const LOOKS: Record<Look, string> = {
  plain: "border-line-strong bg-surface text-text hover:bg-hover",
  primary: "border-transparent bg-accent text-accent-text hover:brightness-110",
  quiet: "border-transparent text-muted hover:bg-hover hover:text-text",
  danger: "border-line-strong bg-surface text-failed hover:bg-failed-soft",
};

type ButtonProps = ComponentProps<"button"> & { look?: Look; isBusy?: boolean; icon?: ReactNode; size?: "sm" | "md" };

export function Button({
  look = "plain",
  isBusy,
  icon,
  size = "md",
  className,
  children,
  disabled,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled || isBusy}
      aria-busy={isBusy || undefined}
      className={classNames(
        "inline-flex shrink-0 select-none items-center justify-center gap-1.5 whitespace-nowrap rounded-md border font-medium transition-colors",
        "disabled:pointer-events-none disabled:opacity-45",
        size === "sm" ? "h-6 px-2 text-sm" : "h-7.5 px-2.5 text-base",
        LOOKS[look],
        className,
      )}
    >
      {isBusy ? <LoaderCircle className="size-3.5 animate-spin" aria-hidden /> : icon}
      {children}
    </button>
  );
}

type IconButtonProps = Omit<ButtonProps, "children" | "icon"> & {
  label: string;
  /** More about what it does now, for the tooltip. */
  hint?: string | null;
  keys?: string;
  /** For one that switches something: whether that is on. */
  isPressed?: boolean;
  children: ReactNode;
};

/** A button that is only a picture: its label is told to everybody, in a tooltip and to screen readers. */
export function IconButton({
  label,
  hint,
  keys,
  isPressed,
  look = "quiet",
  size = "md",
  isBusy,
  className,
  children,
  disabled,
  ...rest
}: IconButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      {...tip(hint ? `${label} ${hint}` : label, keys)}
      aria-label={label}
      aria-keyshortcuts={keys}
      aria-disabled={disabled || isBusy || undefined}
      aria-busy={isBusy || undefined}
      aria-pressed={isPressed}
      onClick={disabled || isBusy ? undefined : rest.onClick}
      className={classNames(
        "inline-flex shrink-0 items-center justify-center rounded-md border transition-colors",
        "aria-disabled:cursor-not-allowed aria-disabled:opacity-40 aria-disabled:hover:bg-transparent",
        size === "sm" ? "size-6" : "size-7.5",
        LOOKS[look],
        isPressed && "text-accent!",
        className,
      )}
    >
      {isBusy ? <LoaderCircle className="size-4 animate-spin" aria-hidden /> : children}
    </button>
  );
}
