import type { ReactNode } from "react";
import { Link } from "wouter";
import { classNames } from "@/ui/class-names";

type LinkButtonProps = {
  href: string;
  look?: "plain" | "primary" | "quiet";
  size?: "sm" | "md";
  icon?: ReactNode;
  /** For those who cannot see where it stands. */
  label?: string;
  children: ReactNode;
};

const LOOKS = {
  plain: "border-line-strong bg-surface text-text hover:bg-hover",
  primary: "border-transparent bg-accent text-accent-text hover:brightness-110",
  quiet: "border-transparent text-muted hover:bg-hover hover:text-text",
};

/** A link to another page that looks like the button next to it. */
export function LinkButton({ href, look = "plain", size = "md", icon, label, children }: LinkButtonProps) {
  return (
    <Link
      href={href}
      aria-label={label}
      className={classNames(
        "inline-flex shrink-0 items-center justify-center gap-1.5 whitespace-nowrap rounded-md border font-medium transition-colors",
        size === "sm" ? "h-6 px-2 text-sm" : "h-7.5 px-2.5",
        LOOKS[look],
      )}
    >
      {icon}
      {children}
    </Link>
  );
}
