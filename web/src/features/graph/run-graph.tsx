import "@xyflow/react/dist/base.css";
import { ReactFlow, ReactFlowProvider, useReactFlow, useStore, useStoreApi } from "@xyflow/react";
import { ChevronsDownUp, ChevronsUpDown, Crosshair, Maximize, Minus, Plus } from "lucide-react";
import { type KeyboardEvent, type MouseEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { stepOf, useRun } from "@/api/run-context";
import { hostOf } from "@/core/addresses";
import type { Box } from "@/core/lanes";
import { wordOf } from "@/core/status";
import { type BoxActions, BoxNode, type BoxNodeType } from "@/features/graph/box-node";
import { isSameState } from "@/features/graph/box-state";
import { firstViewport, neighbour, toggled, ZOOM_FOR_CANVAS } from "@/features/graph/navigation";
import { StepsCanvas } from "@/features/graph/steps-canvas";
import { useBoxes } from "@/features/graph/use-boxes";
import { useStepMenu } from "@/features/graph/use-step-menu";
import { IconButton } from "@/ui/button";
import { useSetting } from "@/ui/hooks";
import { ContextMenu, openMenuOf } from "@/ui/menu";

const NODE_TYPES = { box: BoxNode };
const NO_EDGES: never[] = [];

type RunGraphProps = { collapsed: ReadonlySet<string>; onCollapse: (collapsed: ReadonlySet<string>) => void };

export function RunGraph(props: RunGraphProps) {
  const { isLoaded } = useRun("isLoaded"); // before that no step has a state, and no loop its turns
  const [size, setSize] = useState<{ width: number; height: number } | null>(null);
  const measure = useCallback((element: HTMLDivElement | null) => {
    if (element) setSize({ width: element.clientWidth, height: element.clientHeight });
  }, []);
  return (
    <div ref={measure} className="relative h-full">
      {size && isLoaded && (
        <ReactFlowProvider>
          <Graph {...props} size={size} />
        </ReactFlowProvider>
      )}
    </div>
  );
}

function Graph({ collapsed, onCollapse, size }: RunGraphProps & { size: { width: number; height: number } }) {
  const { layout, states, detail, selected, select, stop, toggleBreakpoint, isViewer } = useBoxes(collapsed);
  const flow = useReactFlow();
  const store = useStoreApi();
  const [isFollowing, setFollowing] = useSetting("graph.follow", true);
  const isSmall = useStore((store) => store.transform[2] < ZOOM_FOR_CANVAS);
  const { menuItems, openMenuFor } = useStepMenu();

  const toggleAt = useRef((_path: string) => {});
  toggleAt.current = (path) => {
    const step = stepOf(detail, path);
    if (step) toggleBreakpoint(step);
  };
  const collapse = useRef((_id: string) => {});
  collapse.current = (id) => onCollapse(toggled(collapsed, id));
  const actions = useMemo<BoxActions>(
    () => ({
      onToggleBreakpoint: isViewer ? null : (path) => toggleAt.current(path),
      onToggleCollapse: (id) => collapse.current(id),
    }),
    [isViewer],
  );

  const kept = useRef(new Map<string, BoxNodeType>());
  const seen = useSeenBoxes(layout.boxes, isSmall);
  const nodes = useMemo(() => {
    const next = new Map<string, BoxNodeType>();
    for (const box of seen) {
      const state = states(box);
      const before = kept.current.get(box.id);
      const { data } = before ?? {};
      const isSame = before && data?.box === box && data.actions === actions && isSameState(data.state, state);
      next.set(box.id, isSame ? before : nodeOf(box, { box, state, actions }));
    }
    kept.current = next;
    return [...next.values()];
  }, [seen, states, actions]);

  const isMoved = useRef(false);
  const { width, height } = layout;
  // biome-ignore lint/correctness/useExhaustiveDependencies: until it is moved, by the user or to a stop, a growing graph is fitted again
  useEffect(() => {
    if (!isMoved.current) void flow.setViewport(firstViewport(layout, size));
  }, [width, height]);

  const show = useCallback(
    (box: Box) => {
      const { width, height, transform } = store.getState();
      const [left, top, zoom] = transform;
      const at = { x: box.x * zoom + left, y: box.y * zoom + top };
      const isSeen = at.x > 0 && at.y > 0 && at.x < width - 120 && at.y < height - 60;
      if (isSeen && zoom >= ZOOM_FOR_CANVAS) return;
      isMoved.current = true;
      const to = { x: box.x + box.width / 2, y: box.y + Math.min(box.height, 40) / 2 };
      void flow.setCenter(to.x, to.y, { zoom: Math.max(zoom, 0.8), duration: 180 });
    },
    [flow, store],
  );

  const shownStop = stop && hostOf(stop.occurrence);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another stop moves the graph, not another layout
  useEffect(() => {
    const box = shownStop && isFollowing && layout.boxes.find((each) => each.occurrence === shownStop);
    if (box) show(box);
  }, [shownStop, stop?.id]);

  const choose = (box: Box | undefined) => {
    if (!box) return;
    select(box.occurrence);
    show(box);
  };
  const press = (event: KeyboardEvent) => {
    const at = layout.boxes.find((box) => box.occurrence === selected);
    if (event.key.startsWith("Arrow") && !event.altKey) {
      event.preventDefault();
      choose(neighbour(layout.boxes, at, event.key));
    } else if (event.key === "m" && event.target === event.currentTarget) {
      event.preventDefault();
      const box = at && document.querySelector(`[data-box="${CSS.escape(at.id)}"]`);
      openMenuFor(at);
      openMenuOf(box ?? event.currentTarget.querySelector(".react-flow"));
    } else if (at && (event.key === "Enter" || event.key === " ") && event.target === event.currentTarget) {
      event.preventDefault();
      if (at.kind === "step") toggleAt.current(at.path);
      else onCollapse(toggled(collapsed, at.id));
    }
  };
  const clickPane = (event: MouseEvent) => {
    const at = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    choose(layout.boxes.findLast((box) => isAt(box, at)));
  };
  const at = layout.boxes.find((box) => box.occurrence === selected);
  const containers = layout.boxes.filter((box) => box.kind !== "step");
  return (
    <div
      role="group"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys walk the steps
      tabIndex={0}
      aria-label="Graph of the steps. Arrow keys move, Enter toggles a breakpoint."
      onKeyDown={press}
      className="size-full focus-visible:outline-2 focus-visible:-outline-offset-2"
    >
      <span className="sr-only" aria-live="polite">
        {at && `${at.title}, ${wordOf(states(at).status)}${states(at).mark === "none" ? "" : ", breakpoint"}`}
      </span>
      <ContextMenu items={menuItems} className="size-full">
        <div
          className="size-full"
          onContextMenuCapture={(event) => {
            const id = (event.target as Element).closest("[data-box]")?.getAttribute("data-box");
            if (id || event.nativeEvent.isTrusted) openMenuFor(layout.boxes.find((box) => box.id === id));
          }}
        >
          <ReactFlow
            nodes={nodes}
            edges={NO_EDGES}
            nodeTypes={NODE_TYPES}
            defaultViewport={firstViewport(layout, size)}
            minZoom={0.02}
            maxZoom={1.6}
            panOnScroll
            zoomOnDoubleClick={false}
            nodesDraggable={false}
            nodesConnectable={false}
            nodesFocusable={false}
            edgesFocusable={false}
            disableKeyboardA11y
            onMoveStart={(event) => {
              isMoved.current ||= event !== null;
            }}
            onNodeClick={(_, node) => select(node.data.box.occurrence)}
            onPaneClick={clickPane}
            proOptions={{ hideAttribution: true }}
          >
            {isSmall && <StepsCanvas boxes={layout.boxes} states={states} />}
          </ReactFlow>
        </div>
      </ContextMenu>
      <div className="absolute right-2 bottom-2 flex flex-col gap-0.5 rounded-lg border border-line bg-surface p-0.5 shadow-sm">
        <IconButton size="sm" label="Zoom in" onClick={() => flow.zoomIn({ duration: 120 })}>
          <Plus className="size-3.5" />
        </IconButton>
        <IconButton size="sm" label="Zoom out" onClick={() => flow.zoomOut({ duration: 120 })}>
          <Minus className="size-3.5" />
        </IconButton>
        <IconButton
          size="sm"
          label="Fit to view"
          onClick={() =>
            flow.fitBounds({ x: 0, y: 0, width: layout.width, height: layout.height }, { duration: 160, padding: 0.06 })
          }
        >
          <Maximize className="size-3.5" />
        </IconButton>
        <IconButton
          size="sm"
          label={isFollowing ? "Following execution" : "Follow execution"}
          isPressed={isFollowing}
          onClick={() => setFollowing(!isFollowing)}
        >
          <Crosshair className="size-3.5" />
        </IconButton>
        {containers.length > 0 && (
          <IconButton
            size="sm"
            label={collapsed.size > 0 ? "Expand groups" : "Collapse groups"}
            onClick={() => onCollapse(collapsed.size > 0 ? new Set() : new Set(containers.map((box) => box.id)))}
          >
            {collapsed.size > 0 ? <ChevronsUpDown className="size-3.5" /> : <ChevronsDownUp className="size-3.5" />}
          </IconButton>
        )}
      </div>
    </div>
  );
}

const GRID = 300; // how far the graph is moved before it is looked again what is to be seen

/** The boxes that are in the window or near it: React Flow is given no others, whatever the size of the run. */
function useSeenBoxes(boxes: readonly Box[], isSmall: boolean): readonly Box[] {
  const place = useStore(({ transform: [x, y, zoom], width, height }) => {
    const cell = (value: number) => Math.floor(value / zoom / GRID) * GRID;
    return `${cell(-x)} ${cell(-y)} ${cell(width - x)} ${cell(height - y)}`;
  });
  return useMemo(() => {
    if (isSmall) return [];
    const [left = 0, top = 0, right = 0, bottom = 0] = place.split(" ").map(Number);
    return boxes.filter(
      (box) =>
        box.x + box.width >= left - GRID &&
        box.y + box.height >= top - GRID &&
        box.x <= right + 2 * GRID &&
        box.y <= bottom + 2 * GRID,
    );
  }, [boxes, isSmall, place]);
}

function nodeOf(box: Box, data: BoxNodeType["data"]): BoxNodeType {
  return {
    id: box.id,
    type: "box",
    position: { x: box.x, y: box.y },
    width: box.width,
    height: box.height,
    zIndex: box.depth,
    data,
  };
}

function isAt(box: Box, at: { x: number; y: number }): boolean {
  return at.x >= box.x && at.y >= box.y && at.x <= box.x + box.width && at.y <= box.y + box.height;
}
