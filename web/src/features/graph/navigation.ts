import type { Box, Layout } from "@/core/lanes";

/** Below this zoom a step cannot be read, so it is only painted. */
export const ZOOM_FOR_CANVAS = 0.35;

const MARGIN = 28;
const MANY = 300;
const READABLE = 0.7;

/** Where the graph begins: all of it if it can be read, else its first step; all of it in any case when there are very many steps. */
export function firstViewport(layout: Layout, pane: { width: number; height: number }) {
  const byWidth = (pane.width - 2 * MARGIN) / layout.width;
  const byHeight = (pane.height - 2 * MARGIN) / layout.height;
  const whole = Math.min(byWidth, byHeight);
  const zoom = Math.min(
    1,
    Math.max(0.02, layout.boxes.length > MANY ? whole : Math.max(READABLE, Math.min(byWidth, 1))),
  );
  const isWider = layout.width * zoom > pane.width - 2 * MARGIN;
  if (!isWider) return { x: (pane.width - layout.width * zoom) / 2, y: MARGIN, zoom };
  const first = layout.boxes[0];
  const end = first ? (first.x + first.width) * zoom : 0;
  return { x: first && first.kind === "step" ? Math.min(MARGIN, pane.width - MARGIN - end) : MARGIN, y: MARGIN, zoom };
}

/** The box to go to from `from` with an arrow key: along the order of the steps, or to the lane beside it. */
export function neighbour(boxes: readonly Box[], from: Box | undefined, key: string): Box | undefined {
  if (!from) return boxes[0];
  const at = boxes.indexOf(from);
  if (key === "ArrowDown") return boxes[at + 1] ?? from;
  if (key === "ArrowUp") return boxes[at - 1] ?? from;
  const isRight = key === "ArrowRight";
  const beside = boxes.filter((box) => (isRight ? box.x >= from.x + from.width : box.x + box.width <= from.x));
  const distance = (box: Box) => Math.abs(box.y - from.y) * 2 + Math.abs(box.x - from.x);
  return beside.sort((one, other) => distance(one) - distance(other))[0] ?? from;
}

export function toggled(set: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(id)) next.add(id);
  return next;
}
