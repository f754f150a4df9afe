import {
  Bell,
  BookMarked,
  Command as CommandIcon,
  FlaskConical,
  ListTree,
  Moon,
  Play,
  Search,
  Sun,
} from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import { Link, useLocation } from "wouter";
import { useIsViewer, useMe } from "@/api/queries";
import { useRepoChoices } from "@/api/repo-queries";
import { useIsKnown } from "@/api/visitor";
import { useCommands, useShortcuts } from "@/app/commands";
import { Help } from "@/app/help";
import { LoggedOut } from "@/app/logged-out";
import { Palette } from "@/app/palette";
import { toggleTheme } from "@/app/theme";
import { keysOf } from "@/core/keys";
import { boardLink, playgroundLink, repoLink } from "@/core/links";
import { IconButton } from "@/ui/button";
import { classNames } from "@/ui/class-names";

/** What is around every page: where to go, the palette, the help, the theme. */
export function Shell({ children }: { children: ReactNode }) {
  const [location, navigate] = useLocation();
  const [open, setOpen] = useState<"palette" | "help" | null>(null);
  const me = useMe();
  const isViewer = useIsViewer();
  const isKnown = useIsKnown();
  const repos = useRepoChoices(open === "palette");
  useShortcuts();
  useCommands(
    useMemo(
      () => [
        { id: "palette", title: "Search commands", shortcut: "palette", run: () => setOpen("palette") },
        { id: "help", title: "Show keyboard shortcuts", shortcut: "help", run: () => setOpen("help") },
        { id: "runs", title: "Go to runs", shortcut: "runs", run: () => navigate("/") },
        { id: "repos", title: "Go to repositories", shortcut: "repos", run: () => navigate("/repos") },
        { id: "playground", title: "Go to the playground", shortcut: "playground", run: () => navigate("/playground") },
        { id: "new", title: "Start a run", shortcut: "new", isPossible: !isViewer, run: () => navigate("/new") },
        { id: "theme", title: "Toggle theme", run: toggleTheme },
        { id: "notify", title: "Notify me when a run pauses", run: () => void Notification.requestPermission() },
        { id: "search", title: "Search this page", shortcut: "search", run: focusSearch },
      ],
      [navigate, isViewer],
    ),
  );
  useCommands(
    useMemo(
      () =>
        (repos.data ?? []).flatMap(({ id }) => [
          { id: `repo-${id}`, title: `Open repository ${id}`, run: () => navigate(repoLink(id)) },
          { id: `board-${id}`, title: `Open the board of ${id}`, run: () => navigate(boardLink(id)) },
          { id: `try-${id}`, title: `Try an agent on ${id}`, run: () => navigate(playgroundLink({ repo: id })) },
        ]),
      [repos.data, navigate],
    ),
  );
  return (
    <div className="flex h-full flex-col">
      <a href="#content" className="sr-only focus:not-sr-only focus:absolute focus:z-80 focus:bg-surface focus:p-2">
        Skip to content
      </a>
      <header className="flex h-10 shrink-0 items-center gap-1 border-line border-b bg-surface px-3">
        <Link href="/" className="mr-1 flex shrink-0 items-center gap-2 font-semibold sm:mr-3">
          <img src="/icon.svg" alt="" className="size-5 shrink-0" />
          <span className="sr-only sm:not-sr-only">Pitstop</span>
        </Link>
        <nav aria-label="Pages" className="flex items-center gap-0.5">
          <Page
            href="/"
            isCurrent={location === "/" || location.startsWith("/runs")}
            icon={<ListTree className="size-3.5" />}
          >
            Runs
          </Page>
          <Page
            href="/repos"
            isCurrent={location.startsWith("/repos") || location.startsWith("/cards")}
            icon={<BookMarked className="size-3.5" aria-hidden />}
          >
            <span className="sm:hidden">Repos</span>
            <span className="hidden sm:inline">Repositories</span>
          </Page>
          <Page
            href="/playground"
            isCurrent={location === "/playground"}
            icon={<FlaskConical className="size-3.5" aria-hidden />}
          >
            <span className="sm:hidden">Try</span>
            <span className="hidden sm:inline">Playground</span>
          </Page>
          {!isViewer && (
            <Page href="/new" isCurrent={location === "/new"} icon={<Play className="size-3.5" />}>
              Start
            </Page>
          )}
        </nav>
        <span className="flex-1" />
        <button
          type="button"
          onClick={() => setOpen("palette")}
          className="hidden h-7 w-64 items-center gap-2 rounded-md border border-line px-2 text-faint text-sm hover:border-line-strong hover:text-muted sm:flex"
        >
          <Search className="size-3.5" aria-hidden />
          <span className="flex-1 text-left">Search or run a command</span>
          <kbd className="font-mono text-xs">{keysOf("palette")}</kbd>
        </button>
        <span className="sm:hidden">
          <IconButton label="Search or run a command" onClick={() => setOpen("palette")}>
            <CommandIcon className="size-4" />
          </IconButton>
        </span>
        <NotifyButton />
        <IconButton label="Keyboard shortcuts" keys="?" onClick={() => setOpen("help")}>
          <span className="font-semibold">?</span>
        </IconButton>
        <IconButton label="Toggle theme" onClick={toggleTheme}>
          <Sun className="hidden size-4 [[data-theme=dark]_&]:block" />
          <Moon className="size-4 [[data-theme=dark]_&]:hidden" />
        </IconButton>
        {me.data && isKnown && <span className="hidden pl-1 text-muted text-sm md:inline">{me.data.name}</span>}
      </header>
      <main id="content" className="min-h-0 flex-1">
        {isKnown ? children : <LoggedOut />}
      </main>
      <Palette isOpen={open === "palette"} onClose={() => setOpen(null)} />
      <Help isOpen={open === "help"} onClose={() => setOpen(null)} />
    </div>
  );
}

/** Asked for once: a browser that was told yes or no remembers it. */
function NotifyButton() {
  const [permission, setPermission] = useState(() => ("Notification" in window ? Notification.permission : "denied"));
  if (permission !== "default") return null;
  return (
    <IconButton
      label="Notify me when a run pauses"
      onClick={() => void Notification.requestPermission().then(setPermission)}
    >
      <Bell className="size-4" />
    </IconButton>
  );
}

function Page({
  href,
  isCurrent,
  icon,
  children,
}: {
  href: string;
  isCurrent: boolean;
  icon: ReactNode;
  children: ReactNode;
}) {
  return (
    <Link
      href={href}
      aria-current={isCurrent ? "page" : undefined}
      className={classNames(
        "flex items-center gap-1.5 rounded-md px-2 py-1 font-medium",
        isCurrent ? "bg-sunken text-text" : "text-muted hover:bg-hover hover:text-text",
      )}
    >
      <span className="hidden sm:inline">{icon}</span>
      {children}
    </Link>
  );
}

function focusSearch(): void {
  const fields = [...document.querySelectorAll<HTMLInputElement>("[data-search]")];
  fields.find((field) => field.offsetParent !== null)?.focus();
}
