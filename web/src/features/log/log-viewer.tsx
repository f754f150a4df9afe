import { ArrowDown, ArrowUp, ChevronsDown, CircleAlert, Clock, Download, WrapText } from "lucide-react";
import { type KeyboardEvent, useEffect, useState } from "react";
import { api } from "@/api/client";
import { LogRow } from "@/features/log/log-row";
import { useLog } from "@/features/log/use-log";
import { useSearch } from "@/features/log/use-search";
import { IconButton } from "@/ui/button";
import { classNames } from "@/ui/class-names";
import { Empty, Failed, Loading } from "@/ui/feedback";
import { SearchInput } from "@/ui/field";
import { useDebounced, useSetting } from "@/ui/hooks";
import { useVirtualRows } from "@/ui/virtual-rows";

const LINE = 20;

type LogViewerProps = { run: string; occurrence: string; title: string; isWriting: boolean; hasFailed: boolean };

export function LogViewer({ run, occurrence, title, isWriting, hasFailed }: LogViewerProps) {
  const { buffer, length, isLoading, error } = useLog(run, occurrence, isWriting);
  const [search, setSearch] = useState("");
  const wanted = useDebounced(search.trim(), 120);
  const found = useSearch(buffer, length, wanted);
  const [at, setAt] = useState(0);
  const [isFollowing, setFollowing] = useState(true);
  const [marked, setMarked] = useState<number | null>(null);
  const [showsTime, setShowsTime] = useSetting("log.time", false);
  const [wraps, setWraps] = useSetting("log.wrap", false);
  const { box, virtual } = useVirtualRows(length, LINE, 20);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another log begins at its end again
  useEffect(() => {
    setFollowing(true);
    setMarked(null);
  }, [occurrence]);
  useEffect(() => {
    if (isFollowing && length > 0) virtual.scrollToIndex(length - 1, { align: "end" });
  }, [isFollowing, length, virtual]);
  const isFound = found.length > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another text begins at its first line, once there is one
  useEffect(() => {
    setAt(0);
    if (wanted && isFound) goTo(found[0] ?? 0);
  }, [wanted, isFound]);

  const goTo = (index: number) => {
    setFollowing(false);
    virtual.scrollToIndex(index, { align: "center" });
  };
  const goToMatch = (match: number) => {
    if (found.length === 0) return;
    const next = (match + found.length) % found.length;
    setAt(next);
    goTo(found[next] ?? 0);
  };
  const scrolled = () => {
    const element = box.current;
    if (!element) return;
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < LINE * 2;
    if (isAtEnd !== isFollowing) setFollowing(isAtEnd);
  };
  const pressInSearch = (event: KeyboardEvent) => {
    if (event.key === "Enter") goToMatch(event.shiftKey ? at - 1 : at + (found.length > 0 && wanted ? 1 : 0));
    else if (event.key === "Escape") setSearch("");
    else return;
    event.preventDefault();
  };
  const errorLine = () => {
    const index = buffer.findError();
    if (index >= 0) {
      setFollowing(false);
      setMarked(index);
      virtual.scrollToIndex(index, { align: "center" });
    }
  };
  const matches = new Set(wanted ? found : []);
  return (
    <section aria-label={`Log of ${title}`} className="flex h-full min-h-0 flex-col bg-log">
      <div className="flex min-h-9 shrink-0 flex-wrap items-center gap-1 border-line border-b bg-surface px-2 max-md:py-1 md:flex-nowrap">
        <span className="min-w-0 shrink truncate font-medium text-sm">{title}</span>
        <span className="shrink-0 text-faint text-sm tabular">
          {length === 1 ? "1 line" : `${length.toLocaleString()} lines`}
        </span>
        <span className="flex-1 max-md:basis-full" />
        <SearchInput
          label="Search log"
          className="h-6.5! max-w-52 max-md:w-0 max-md:flex-1"
          value={search}
          onText={setSearch}
          onKeyDown={pressInSearch}
        />
        <span className="min-w-14 text-center text-muted text-sm tabular" aria-live="polite">
          {wanted ? (found.length > 0 ? `${at + 1}/${found.length.toLocaleString()}` : "none") : ""}
        </span>
        <IconButton size="sm" label="Previous match" disabled={found.length === 0} onClick={() => goToMatch(at - 1)}>
          <ArrowUp className="size-3.5" />
        </IconButton>
        <IconButton size="sm" label="Next match" disabled={found.length === 0} onClick={() => goToMatch(at + 1)}>
          <ArrowDown className="size-3.5" />
        </IconButton>
        <span className="mx-1 h-4 w-px bg-line" />
        <IconButton
          size="sm"
          label="Go to error"
          onClick={errorLine}
          className={hasFailed ? "text-failed!" : undefined}
        >
          <CircleAlert className="size-3.5" />
        </IconButton>
        <IconButton size="sm" label="Wrap long lines" isPressed={wraps} onClick={() => setWraps(!wraps)}>
          <WrapText className="size-3.5" />
        </IconButton>
        <IconButton size="sm" label="Show times" isPressed={showsTime} onClick={() => setShowsTime(!showsTime)}>
          <Clock className="size-3.5" />
        </IconButton>
        <IconButton size="sm" label="Follow log" isPressed={isFollowing} onClick={() => setFollowing(true)}>
          <ChevronsDown className="size-3.5" />
        </IconButton>
        <IconButton size="sm" label="Download" onClick={() => window.open(api.logDownload(run, occurrence))}>
          <Download className="size-3.5" />
        </IconButton>
      </div>
      {error ? (
        <Failed error={error} />
      ) : isLoading && length === 0 ? (
        <Loading label="Loading log" />
      ) : length === 0 ? (
        <Empty title={isWriting ? "No output yet" : "No output"} />
      ) : (
        <div
          ref={box}
          onScroll={scrolled}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with keys
          tabIndex={0}
          role="log"
          aria-label="Lines"
          aria-live="off"
          className="min-h-0 flex-1 overflow-auto font-mono text-[12px] text-log-text leading-5 [contain:strict]"
        >
          <div
            className="relative"
            style={{ height: virtual.getTotalSize(), minWidth: "100%", width: wraps ? undefined : "max-content" }}
          >
            <div
              className={classNames("absolute top-0 left-0 min-w-full", wraps && "w-full")}
              style={{ transform: `translateY(${virtual.getVirtualItems()[0]?.start ?? 0}px)` }}
            >
              {virtual.getVirtualItems().map((item) => {
                const line = buffer.lines[item.index];
                if (!line) return null;
                return (
                  <div key={item.key} data-index={item.index} ref={wraps ? virtual.measureElement : undefined}>
                    <LogRow
                      line={line}
                      wraps={wraps}
                      showsTime={showsTime}
                      search={matches.has(item.index) ? wanted : ""}
                      isCurrent={(wanted !== "" && found[at] === item.index) || marked === item.index}
                    />
                  </div>
                );
              })}
            </div>
          </div>
        </div>
      )}
    </section>
  );
}
