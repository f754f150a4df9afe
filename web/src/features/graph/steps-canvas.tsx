import { useStore } from "@xyflow/react";
import { useEffect, useRef } from "react";
import type { Box } from "@/core/lanes";
import { toneOf } from "@/core/status";
import type { BoxStates } from "@/features/graph/box-state";

type StepsCanvasProps = { boxes: readonly Box[]; states: BoxStates };

const FILLS: Record<string, string> = {
  waiting: "--line",
  muted: "--line-strong",
  running: "--running",
  paused: "--paused-fill",
  passed: "--passed",
  failed: "--failed",
  neutral: "--line-strong",
  warning: "--paused-fill",
};

/** Every step as a coloured bar on one canvas: thousands of them, for when they are too small to be read. */
export function StepsCanvas({ boxes, states }: StepsCanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [x, y, zoom] = useStore((store) => store.transform);
  const width = useStore((store) => store.width);
  const height = useStore((store) => store.height);

  useEffect(() => {
    const element = canvas.current;
    const pen = element?.getContext("2d");
    if (!element || !pen) return;
    const scale = devicePixelRatio;
    if (element.width !== Math.round(width * scale)) element.width = Math.round(width * scale);
    if (element.height !== Math.round(height * scale)) element.height = Math.round(height * scale);
    const css = getComputedStyle(document.documentElement);
    const colours = Object.fromEntries(Object.entries(FILLS).map(([tone, name]) => [tone, css.getPropertyValue(name)]));
    const accent = css.getPropertyValue("--accent");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    for (const box of boxes) {
      const [left, top] = [box.x * zoom + x, box.y * zoom + y];
      if (left > width || top > height || left + box.width * zoom < 0 || top + box.height * zoom < 0) continue;
      const state = states(box);
      if (box.kind !== "step" && !box.isCollapsed) {
        pen.strokeStyle = colours.muted ?? "";
        pen.lineWidth = 1;
        pen.strokeRect(left + 0.5, top + 0.5, box.width * zoom, box.height * zoom);
        continue;
      }
      pen.fillStyle = colours[toneOf(state.status)] ?? "";
      pen.fillRect(left, top, Math.max(1, box.width * zoom), Math.max(1, box.height * zoom));
      if (state.isSelected || state.isActive) {
        pen.strokeStyle = accent;
        pen.lineWidth = 2;
        pen.strokeRect(left - 2, top - 2, box.width * zoom + 4, box.height * zoom + 4);
      }
    }
  }, [boxes, states, x, y, zoom, width, height]);

  return <canvas ref={canvas} aria-hidden className="pointer-events-none absolute inset-0 size-full" />;
}
