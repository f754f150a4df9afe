import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { api } from "@/api/client";
import type { VariableInfo } from "@/api/types";

type Level = { variables: VariableInfo[]; next: number | null; total: number };
export type TreeRow =
  | { kind: "value"; depth: number; variable: VariableInfo; isOpen: boolean }
  | { kind: "more"; depth: number; path: string; left: number };

const PAGE = 100;
const MOST_AT_ONCE = 40; // levels that are fetched together

/** The scope of a stop as rows: each level is fetched when it is opened, and all that is open again after an edit. */
export function useVariableTree(run: string, stop: number, edited: number, sort: "order" | "bytes" = "order") {
  const [levels, setLevels] = useState<ReadonlyMap<string, Level>>(new Map());
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set([".vars", ".steps"]));
  const [error, setError] = useState<Error | null>(null);
  const opened = useRef(open);
  opened.current = open;
  const leaving = useRef(new AbortController()); // what was asked before a stop or an edit is not shown after it

  const load = useCallback(
    async (path: string, cursor: number) => {
      const { signal } = leaving.current;
      try {
        const page = await api.variables(run, { stop, path, cursor, limit: PAGE, sort }, signal);
        if (signal.aborted) return;
        setLevels((now) => {
          const before = now.get(path)?.variables.slice(0, cursor) ?? [];
          return new Map(now).set(path, {
            variables: [...before, ...page.variables],
            next: page.next,
            total: page.total,
          });
        });
        setError(null);
      } catch (problem) {
        if (!signal.aborted && path === ".") setError(problem as Error);
      }
    },
    [run, stop, sort],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: after an edit everything that is open is asked for again
  useEffect(() => {
    leaving.current = new AbortController();
    for (const path of [".", ...opened.current]) void load(path, 0);
    return () => leaving.current.abort();
  }, [load, edited]);

  const toggle = useCallback(
    (path: string) => {
      const next = new Set(opened.current);
      if (!next.delete(path)) {
        next.add(path);
        void load(path, 0);
      }
      setOpen(next);
    },
    [load],
  );

  const rows = useMemo(() => flatten(levels, open), [levels, open]);
  const openMore = useCallback(() => {
    const closed = rows.flatMap((row) => (row.kind === "value" && row.variable.size && !row.isOpen ? [row] : []));
    const paths = closed.slice(0, MOST_AT_ONCE).map((row) => row.variable.path);
    setOpen(new Set([...opened.current, ...paths]));
    for (const path of paths) void load(path, 0);
  }, [rows, load]);

  return {
    rows,
    isLoading: !levels.has("."),
    error,
    toggle,
    openMore,
    collapseAll: () => setOpen(new Set()),
    loadMore: (path: string) => void load(path, levels.get(path)?.next ?? 0),
    refresh: () => void load(".", 0),
  };
}

export function keyOf(row: TreeRow): string {
  return row.kind === "value" ? row.variable.path : `more of ${row.path}`;
}

/** The index of the row that was chosen, though others came before it since; of one that is gone, where it was. */
export function activeRow(rows: readonly TreeRow[], chosen: { key: string; at: number }): number {
  const now = rows.findIndex((row) => keyOf(row) === chosen.key);
  return now === -1 ? Math.max(0, Math.min(chosen.at, rows.length - 1)) : now;
}

function flatten(levels: ReadonlyMap<string, Level>, open: ReadonlySet<string>): TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (path: string, depth: number): void => {
    const level = levels.get(path);
    if (!level) return;
    for (const variable of level.variables) {
      const isOpen = open.has(variable.path);
      rows.push({ kind: "value", depth, variable, isOpen });
      if (isOpen) add(variable.path, depth + 1);
    }
    if (level.next !== null) rows.push({ kind: "more", depth, path, left: level.total - level.variables.length });
  };
  add(".", 0);
  return rows;
}
