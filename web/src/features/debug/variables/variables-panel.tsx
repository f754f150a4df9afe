import { useQuery } from "@tanstack/react-query";
import { ArrowDownWideNarrow, ChevronsDownUp, ChevronsUpDown, GitCompare, Undo2 } from "lucide-react";
import { type KeyboardEvent, useMemo, useState } from "react";
import { api } from "@/api/client";
import { useRun } from "@/api/run-context";
import type { StopInfo, VariableInfo } from "@/api/types";
import { Differences, DiffView } from "@/features/debug/diff-view";
import { NeedsStop } from "@/features/debug/needs-stop";
import { useValueSearch } from "@/features/debug/variables/use-value-search";
import { activeRow, keyOf, type TreeRow, useVariableTree } from "@/features/debug/variables/use-variable-tree";
import { ValueDialog } from "@/features/debug/variables/value-dialog";
import { variableMenu } from "@/features/debug/variables/variable-menu";
import { VariableRow } from "@/features/debug/variables/variable-row";
import { Button, IconButton } from "@/ui/button";
import { classNames } from "@/ui/class-names";
import { copyText } from "@/ui/copy";
import { Empty, Failed, Loading } from "@/ui/feedback";
import { SearchInput } from "@/ui/field";
import { useDebounced, useSetting } from "@/ui/hooks";
import { ContextMenu, openMenuOf } from "@/ui/menu";
import { PanelBar } from "@/ui/panel";
import { toast } from "@/ui/toast";
import { useVirtualRows } from "@/ui/virtual-rows";

const ROW = 25;

export function VariablesPanel() {
  const { stop } = useRun("stop");
  if (!stop) return <NeedsStop what="the variables" />;
  return <Tree key={stop.frame} stop={stop} />;
}

function Tree({ stop }: { stop: StopInfo }) {
  const { run, detail, edits, edited, act, isViewer } = useRun("run", "detail", "edits", "edited", "act", "isViewer");
  const [search, setSearch] = useState("");
  const wanted = useDebounced(search.trim(), 40);
  const [pins, setPins] = useSetting<string[]>(`pins.${detail.flow}`, []);
  const [showsDiff, setShowsDiff] = useState(false);
  const [edit, setEditing] = useState<{ stop: number; path: string; isLarge: boolean } | null>(null);
  const editing = edit?.stop === stop.id ? edit : null; // what is written at one stop is not set at the next
  const [chosen, setChosen] = useState({ key: "", at: 0 });
  const [bySize, setBySize] = useState(false);
  const tree = useVariableTree(run.id, stop.id, edited, bySize ? "bytes" : "order");
  const { found, prepareSearch } = useValueSearch(run.id, stop.id, edited, wanted);
  const changes = useQuery({
    queryKey: ["diff", run.id, stop.id, edited],
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
  const { box, virtual } = useVirtualRows(rows.length, ROW);
  const undoable = edits.filter((edit) => edit.stop === stop.id);

  const canEdit = stop.allowed.includes("set") && !isViewer;
  const at = activeRow(rows, chosen);
  const active = rows[at];
  const variable = active?.kind === "value" ? active.variable : undefined;
  const pin = (path: string) => setPins(pins.includes(path) ? pins.filter((each) => each !== path) : [...pins, path]);
  const actions = useMemo(() => {
    const save = async (path: string, value: unknown) => {
      setEditing(null);
      box.current?.focus();
      if (await act("set", { stop: stop.id, path, value })) {
        toast(`Set ${path}`, "good", { label: "Undo", onSelect: () => void act("undo", { stop: stop.id }) });
      }
    };
    return {
      activate: (path: string, index: number) => setChosen({ key: path, at: index }),
      toggle: tree.toggle,
      edit: (each: VariableInfo) => setEditing({ stop: stop.id, path: each.path, isLarge: isLarge(each) }),
      save: (path: string, value: unknown) => void save(path, value),
      cancel: () => setEditing(null),
      unset: (path: string) => void act("unset", { stop: stop.id, path }),
      watch: (expression: string) =>
        void act("watch", { expression }).then((isDone) => isDone && toast(`Watching ${expression}`, "good")),
    };
  }, [act, stop.id, tree.toggle, box]);
  const choose = (index: number) => {
    const row = rows[index];
    if (row) setChosen({ key: keyOf(row), at: index });
  };
  const press = (event: KeyboardEvent) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (to !== undefined) {
      const next = Math.min(rows.length - 1, Math.max(0, to));
      choose(next);
      virtual.scrollToIndex(next);
    } else if (active?.kind === "more" && event.key === "Enter") tree.loadMore(active.path);
    else if (active?.kind !== "value" || !variable || event.ctrlKey || event.altKey || event.metaKey) return;
    else if (event.key === "ArrowRight" && variable.size !== null && !active.isOpen) tree.toggle(variable.path);
    else if (event.key === "ArrowLeft" && active.isOpen) tree.toggle(variable.path);
    else if ((event.key === "Enter" || event.key === "F2") && canEdit) actions.edit(variable);
    else if (event.key === "Delete" && canEdit) actions.unset(variable.path);
    else if (event.key === "c") copyText(variable.path, variable.path);
    else if (event.key === "p" && !isViewer) pin(variable.path);
    else if (event.key === "w" && !isViewer) actions.watch(variable.path);
    else if (event.key === "m") openMenuOf(document.getElementById(`variable-${at}`));
    else return;
    event.preventDefault();
  };
  return (
    <div className="flex h-full flex-col">
      <PanelBar className="gap-1">
        <SearchInput
          label="Filter variables"
          placeholder="Filter names and values"
          className="h-7!"
          value={search}
          onFocus={prepareSearch}
          onText={setSearch}
          onKeyDown={(event) => event.key === "Escape" && setSearch("")}
        />
        {undoable.length > 0 && !isViewer && (
          <Button size="sm" icon={<Undo2 className="size-3.5" />} onClick={() => act("undo", { stop: stop.id })}>
            Undo {undoable.at(-1)?.path}
          </Button>
        )}
        <IconButton
          size="sm"
          label="Changes since the last stop"
          isPressed={showsDiff}
          onClick={() => setShowsDiff(!showsDiff)}
        >
          <GitCompare className="size-3.5" />
        </IconButton>
        <IconButton size="sm" label="Expand one level" onClick={tree.openMore}>
          <ChevronsUpDown className="size-3.5" />
        </IconButton>
        <IconButton size="sm" label="Sort by size" isPressed={bySize} onClick={() => setBySize(!bySize)}>
          <ArrowDownWideNarrow className="size-3.5" />
        </IconButton>
        <IconButton size="sm" label="Collapse all" onClick={tree.collapseAll}>
          <ChevronsDownUp className="size-3.5" />
        </IconButton>
      </PanelBar>
      {showsDiff && (
        <Differences>
          <DiffView changes={changes.data} nothing="No changes at this stop, or since the last stop of this frame." />
        </Differences>
      )}
      {!wanted && pins.length > 0 && !isViewer && (
        <Pinned
          stop={stop}
          edited={edited}
          pins={pins}
          onUnpin={(path) => setPins(pins.filter((pin) => pin !== path))}
        />
      )}
      {tree.error ? (
        <Failed error={tree.error} onRetry={tree.refresh} />
      ) : wanted && found?.error ? (
        <Failed error={new Error(found.error)} />
      ) : tree.isLoading || (wanted && !found) ? (
        <Loading label={wanted ? "Searching" : "Loading variables"} />
      ) : rows.length === 0 ? (
        <Empty title={wanted ? "No matching variables" : "No variables"} />
      ) : (
        <ContextMenu
          items={variableMenu(variable, {
            isPinned: variable !== undefined && pins.includes(variable.path),
            canEdit,
            isViewer,
            on: { ...actions, pin },
          })}
          className="min-h-0 flex-1"
        >
          <div
            ref={box}
            role="tree"
            aria-label="Variables"
            tabIndex={0}
            aria-activedescendant={`variable-${at}`}
            onKeyDown={press}
            onContextMenuCapture={(event) => {
              const row = (event.target as Element).closest("[data-row]")?.getAttribute("data-row");
              if (row) choose(Number(row));
            }}
            className="@container h-full overflow-auto py-1 focus-visible:outline-2 focus-visible:-outline-offset-2"
          >
            <div role="presentation" className="relative" style={{ height: virtual.getTotalSize() }}>
              {virtual.getVirtualItems().map((item) => {
                const row = rows[item.index];
                if (!row) return null;
                if (row.kind === "more") {
                  return (
                    <div
                      key={item.key}
                      id={`variable-${item.index}`}
                      role="treeitem"
                      aria-selected={item.index === at}
                      tabIndex={-1}
                      className={classNames("absolute inset-x-0", item.index === at && "bg-accent-soft")}
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
                return (
                  <VariableRow
                    key={row.variable.path}
                    index={item.index}
                    top={item.start}
                    height={ROW}
                    row={row}
                    isActive={item.index === at}
                    isChanged={changed.has(row.variable.path)}
                    isEditing={editing?.path === row.variable.path && !editing.isLarge}
                    canEdit={canEdit}
                    on={actions}
                  />
                );
              })}
            </div>
          </div>
        </ContextMenu>
      )}
      {editing?.isLarge && (
        <ValueDialog
          run={run.id}
          stop={stop.id}
          path={editing.path}
          onSave={(value) => actions.save(editing.path, value)}
          onClose={actions.cancel}
        />
      )}
      {wanted && found && (found.total > found.found.length || found.cut.length > 0) && (
        <p className="border-line border-t px-3 py-1 text-muted text-sm">
          {found.total > found.found.length && `The first ${found.found.length} of ${found.total.toLocaleString()}. `}
          {found.cut.length > 0 && `Too large to search: ${found.cut.slice(0, 3).join(", ")}`}
        </p>
      )}
    </div>
  );
}

const LONG = 80;

function isLarge({ size, value }: VariableInfo): boolean {
  return size !== null || (typeof value === "string" && (value.length > LONG || value.includes("\n")));
}

type PinnedProps = { stop: StopInfo; edited: number; pins: string[]; onUnpin: (path: string) => void };

function Pinned({ stop, edited, pins, onUnpin }: PinnedProps) {
  const { run } = useRun("run");
  const values = useQuery({
    queryKey: ["pins", run.id, stop.id, edited, pins],
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
