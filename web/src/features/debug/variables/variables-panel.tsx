import { useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronsDownUp, GitCompare, Undo2 } from "lucide-react";
import { type KeyboardEvent, useMemo, useRef, useState } from "react";
import { api } from "@/api/client";
import { useRun } from "@/api/run-context";
import type { StopInfo, VariableInfo } from "@/api/types";
import { DiffView } from "@/features/debug/diff-view";
import { NeedsStop } from "@/features/debug/needs-stop";
import { useValueSearch } from "@/features/debug/variables/use-value-search";
import { type TreeRow, useVariableTree } from "@/features/debug/variables/use-variable-tree";
import { VariableRow } from "@/features/debug/variables/variable-row";
import { Button, IconButton } from "@/ui/button";
import { Empty, Failed, Loading } from "@/ui/feedback";
import { TextInput } from "@/ui/field";
import { useDebounced, useSetting } from "@/ui/hooks";
import { toast } from "@/ui/toast";

const ROW = 25;

export function VariablesPanel() {
  const { stop } = useRun();
  if (!stop) return <NeedsStop what="the variables" />;
  return <Tree key={stop.frame} stop={stop} />;
}

function Tree({ stop }: { stop: StopInfo }) {
  const { run, now, act } = useRun();
  const edits = now.debug?.edits.length ?? 0;
  const [search, setSearch] = useState("");
  const wanted = useDebounced(search.trim(), 40);
  const [pins, setPins] = useSetting<string[]>("pins", []);
  const [showsDiff, setShowsDiff] = useState(false);
  const [editing, setEditing] = useState<string | null>(null);
  const [at, setAt] = useState(0);
  const tree = useVariableTree(run.id, stop.id, edits);
  const found = useValueSearch(run.id, stop.id, edits, wanted);
  const changes = useQuery({
    queryKey: ["diff", run.id, stop.id, edits],
    queryFn: () => api.diff(run.id, { stop: stop.id }),
  });
  const changed = useMemo(() => new Set(changes.data?.map((change) => change.path)), [changes.data]);
  const rows = useMemo<TreeRow[]>(() => {
    if (!wanted) return tree.rows;
    return (found?.found ?? []).map((each) => ({
      kind: "value",
      depth: 0,
      isOpen: false,
      variable: { ...each, name: each.path, is_cut: false, layer: "", set_by: null } as VariableInfo,
    }));
  }, [wanted, found, tree.rows]);
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 12,
  });
  const undoable = now.debug?.edits.filter((edit) => edit.stop === stop.id) ?? [];

  const save = async (path: string, value: unknown) => {
    setEditing(null);
    box.current?.focus();
    if (await act("set", { stop: stop.id, path, value })) {
      toast(`${path} is set`, "good", { label: "Undo", onSelect: () => void act("undo", { stop: stop.id }) });
    }
  };
  const press = (event: KeyboardEvent) => {
    const row = rows[at];
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (to !== undefined) {
      const next = Math.min(rows.length - 1, Math.max(0, to));
      setAt(next);
      virtual.scrollToIndex(next);
    } else if (row?.kind === "more" && event.key === "Enter") tree.loadMore(row.path);
    else if (row?.kind !== "value") return;
    else if (event.key === "ArrowRight" && row.variable.size !== null && !row.isOpen) tree.toggle(row.variable.path);
    else if (event.key === "ArrowLeft" && row.isOpen) tree.toggle(row.variable.path);
    else if (event.key === "Enter" || event.key === "F2") setEditing(row.variable.path);
    else if (event.key === "Delete") void act("unset", { stop: stop.id, path: row.variable.path });
    else return;
    event.preventDefault();
  };
  return (
    <div className="flex h-full flex-col">
      <div className="flex shrink-0 items-center gap-1 border-line border-b p-1.5">
        <TextInput
          type="search"
          data-search
          aria-label="Filter the variables"
          placeholder="Filter names and values"
          className="h-7!"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
          onKeyDown={(event) => event.key === "Escape" && setSearch("")}
        />
        {undoable.length > 0 && (
          <Button size="sm" icon={<Undo2 className="size-3.5" />} onClick={() => act("undo", { stop: stop.id })}>
            Undo {undoable.at(-1)?.path}
          </Button>
        )}
        <IconButton
          size="sm"
          label="What changed since the last stop"
          aria-pressed={showsDiff}
          onClick={() => setShowsDiff(!showsDiff)}
          className={showsDiff ? "text-accent!" : undefined}
        >
          <GitCompare className="size-3.5" />
        </IconButton>
        <IconButton size="sm" label="Fold everything up" onClick={tree.collapseAll}>
          <ChevronsDownUp className="size-3.5" />
        </IconButton>
      </div>
      {showsDiff && <DiffView changes={changes.data} />}
      {!wanted && pins.length > 0 && (
        <Pinned stop={stop} edits={edits} pins={pins} onUnpin={(path) => setPins(pins.filter((pin) => pin !== path))} />
      )}
      {tree.error ? (
        <Failed error={tree.error} onRetry={tree.refresh} />
      ) : tree.isLoading || (wanted && !found) ? (
        <Loading label={wanted ? "Looking" : "Reading the scope"} />
      ) : rows.length === 0 ? (
        <Empty title={wanted ? "Nothing has that in it" : "The scope is empty"} />
      ) : (
        <div
          ref={box}
          role="tree"
          aria-label="Variables"
          tabIndex={0}
          aria-activedescendant={`variable-${at}`}
          onKeyDown={press}
          className="min-h-0 flex-1 overflow-auto py-1 focus-visible:outline-2 focus-visible:-outline-offset-2"
        >
          <div role="presentation" className="relative" style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map((item) => {
              const row = rows[item.index];
              if (!row) return null;
              if (row.kind === "more") {
                return (
                  <div
                    key={item.key}
                    role="treeitem"
                    aria-selected={item.index === at}
                    tabIndex={-1}
                    className="absolute inset-x-0"
                    style={{ top: item.start, height: ROW, paddingLeft: 24 + row.depth * 14 }}
                  >
                    <button
                      type="button"
                      tabIndex={-1}
                      className="text-accent text-sm hover:underline"
                      onClick={() => tree.loadMore(row.path)}
                    >
                      {row.left.toLocaleString()} more
                    </button>
                  </div>
                );
              }
              const { variable } = row;
              return (
                <VariableRow
                  key={variable.path}
                  id={`variable-${item.index}`}
                  top={item.start}
                  height={ROW}
                  row={row}
                  isActive={item.index === at}
                  isChanged={changed.has(variable.path)}
                  isPinned={pins.includes(variable.path)}
                  isEditing={editing === variable.path}
                  canEdit={stop.allowed.includes("set")}
                  onActivate={() => setAt(item.index)}
                  onToggle={() => tree.toggle(variable.path)}
                  onEdit={() => setEditing(variable.path)}
                  onSave={(value) => save(variable.path, value)}
                  onCancel={() => setEditing(null)}
                  onUnset={() => void act("unset", { stop: stop.id, path: variable.path })}
                  onWatch={() => void act("watch", { expression: variable.path })}
                  onPin={() =>
                    setPins(
                      pins.includes(variable.path)
                        ? pins.filter((pin) => pin !== variable.path)
                        : [...pins, variable.path],
                    )
                  }
                />
              );
            })}
          </div>
        </div>
      )}
      {wanted && found && found.total > found.found.length && (
        <p className="border-line border-t px-3 py-1 text-muted text-sm">
          The first {found.found.length} of {found.total.toLocaleString()}
        </p>
      )}
    </div>
  );
}

type PinnedProps = { stop: StopInfo; edits: number; pins: string[]; onUnpin: (path: string) => void };

function Pinned({ stop, edits, pins, onUnpin }: PinnedProps) {
  const { run } = useRun();
  const values = useQuery({
    queryKey: ["pins", run.id, stop.id, edits, pins],
    queryFn: () =>
      Promise.all(
        pins.map((pin) =>
          api.evaluate(run.id, stop.id, pin).then(
            (all) => all[0],
            () => undefined,
          ),
        ),
      ),
    placeholderData: (kept) => kept,
  });
  return (
    <ul aria-label="Pinned" className="max-h-32 shrink-0 overflow-auto border-line border-b bg-sunken/50 py-1">
      {pins.map((pin, index) => (
        <li key={pin} className="flex items-center gap-2 px-3 font-mono text-sm">
          <span className="shrink-0">{pin}</span>
          <span className="min-w-0 flex-1 truncate text-muted">{JSON.stringify(values.data?.[index])}</span>
          <button type="button" className="font-sans text-faint text-xs hover:text-text" onClick={() => onUnpin(pin)}>
            unpin
          </button>
        </li>
      ))}
    </ul>
  );
}
