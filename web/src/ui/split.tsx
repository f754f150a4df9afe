import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef, useState } from "react";
import { classNames } from "@/ui/class-names";
import { readSetting, writeSetting } from "@/ui/settings";

type SplitProps = {
  /** Under this name the size is kept for the next visit. */
  name: string;
  label: string;
  direction: "row" | "column";
  /** The share of the first part, in percent. */
  initial: number;
  children: [ReactNode, ReactNode];
};

const LEAST = 15;
const MOST = 85;

/** Two parts and a bar between them that is dragged, or moved with the arrow keys. */
export function Split({ name, label, direction, initial, children }: SplitProps) {
  const [share, setShare] = useState(() => readSetting<number>(`split.${name}`, initial));
  const box = useRef<HTMLDivElement>(null);
  const isRow = direction === "row";
  const move = (to: number) => {
    const next = Math.min(MOST, Math.max(LEAST, to));
    setShare(next);
    writeSetting(`split.${name}`, next);
  };
  const drag = (event: PointerEvent<HTMLDivElement>) => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId) || !box.current) return;
    const area = box.current.getBoundingClientRect();
    move(100 * (isRow ? (event.clientX - area.left) / area.width : (event.clientY - area.top) / area.height));
  };
  const press = (event: KeyboardEvent) => {
    const by = { [isRow ? "ArrowLeft" : "ArrowUp"]: -3, [isRow ? "ArrowRight" : "ArrowDown"]: 3 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    move(share + by);
  };
  return (
    <div ref={box} className={classNames("flex h-full min-h-0 min-w-0", isRow ? "flex-row" : "flex-col")}>
      <div className="min-h-0 min-w-0 overflow-hidden" style={{ flex: `${share} 1 0` }}>
        {children[0]}
      </div>
      <div
        role="separator"
        tabIndex={0}
        aria-label={label}
        aria-orientation={isRow ? "vertical" : "horizontal"}
        aria-valuenow={Math.round(share)}
        aria-valuemin={LEAST}
        aria-valuemax={MOST}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={drag}
        onKeyDown={press}
        onDoubleClick={() => move(initial)}
        className={classNames(
          "relative z-10 shrink-0 bg-line transition-colors hover:bg-accent focus-visible:bg-accent focus-visible:outline-none active:bg-accent",
          isRow
            ? "w-px cursor-col-resize before:absolute before:inset-y-0 before:-inset-x-1"
            : "h-px cursor-row-resize before:absolute before:-inset-y-1 before:inset-x-0",
        )}
      />
      <div className="min-h-0 min-w-0 overflow-hidden" style={{ flex: `${100 - share} 1 0` }}>
        {children[1]}
      </div>
    </div>
  );
}
