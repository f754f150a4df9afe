import { Copy } from "lucide-react";
import { IconButton } from "@/ui/button";
import { classNames } from "@/ui/class-names";
import { copyText } from "@/ui/copy";

type CommandLineProps = {
  command: string /** What it is for, in a word or two. */;
  label?: string;
  /** What is copied, where it is no command. */
  what?: string;
  className?: string;
};

/** A command to be run in a terminal, and the button that copies it. */
export function CommandLine({ command, label, what, className }: CommandLineProps) {
  return (
    <div className={classNames("flex h-7.5 min-w-0 items-center rounded-md bg-sunken pl-2 text-left", className)}>
      {label && <span className="mr-2 shrink-0 text-muted text-sm">{label}</span>}
      <code className="min-w-0 flex-1 truncate font-mono text-sm" title={command}>
        {command}
      </code>
      <IconButton
        label={`Copy ${what ?? command}`}
        size="sm"
        className="mr-0.5"
        onClick={() => copyText(command, what ?? "the command")}
      >
        <Copy className="size-3.5" />
      </IconButton>
    </div>
  );
}
