import { Bot, FilePen, FileText, Globe, Plug, Search, SquareTerminal, Wrench } from "lucide-react";

const ICONS: Record<string, typeof Wrench> = {
  read: FileText,
  edit: FilePen,
  shell: SquareTerminal,
  search: Search,
  web: Globe,
  mcp: Plug,
  task: Bot,
};

/** The class of a tool as a picture. */
export function ToolIcon({ tool, className = "size-3.5 shrink-0 text-muted" }: { tool: string; className?: string }) {
  const Icon = ICONS[tool] ?? Wrench;
  return <Icon className={className} aria-hidden />;
}
