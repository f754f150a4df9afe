/** The graph of a run as boxes: steps one below the other, what runs at the same time side by side. */

import { type Addresses, callOf, hostOf, readAddresses } from "@/core/addresses";
import type { StepInjected } from "@/core/events";

export type LaneStep = {
  path: string;
  kind: string;
  title: string;
  parent: string | null;
  is_cleanup: boolean;
};

/** `step`: a leaf. `group`: a step with others in it. `lane`: a frame that no step of its own stands for. */
export type BoxKind = "step" | "group" | "lane";

export type Box = {
  id: string;
  kind: BoxKind;
  path: string;
  occurrence: string;
  title: string;
  stepKind: string;
  /** The frame that begins here, if one does. */
  frame: string | null;
  x: number;
  y: number;
  width: number;
  height: number;
  depth: number;
  /** Whether something stands right above it in the same column. */
  follows: boolean;
  isCollapsed: boolean;
  isCleanup: boolean;
  isInjected: boolean;
  attempt: number;
  /** How many turns a loop has made; 0 for what is no loop. */
  turns: number;
  /** How many steps are in it, those that are hidden too. */
  inside: number;
};

export type Layout = { boxes: Box[]; width: number; height: number };

export type RunShape = {
  occurrences: Iterable<string>;
  frames: ReadonlyMap<string, { id: string; name: string }>;
  injected: readonly StepInjected[];
};

export const STEP_WIDTH = 208;
export const STEP_HEIGHT = 40;
const GAP = 18;
const LANE_GAP = 14;
const PADDING = 12;
const HEADER = 34;
const MOST_IN_A_ROW = 6;
const WIDE = 1.7; // how much wider than high many lanes are laid out

type Part = { width: number; height: number; boxes: Box[] };
type Lane = { part: Part };

export function layOut(steps: readonly LaneStep[], shape: RunShape, collapsed: ReadonlySet<string>): Layout {
  const laying = new Laying(steps, shape, collapsed);
  const { width, height, boxes } = laying.stack(null, "", 0);
  return { boxes, width, height };
}

class Laying {
  #children = new Map<string | null, LaneStep[]>();
  #addresses: Addresses;
  #inside = new Map<string, number>();

  constructor(
    steps: readonly LaneStep[],
    private shape: RunShape,
    private collapsed: ReadonlySet<string>,
  ) {
    this.#addresses = readAddresses([...shape.occurrences, ...shape.frames.keys()]);
    for (const step of steps) {
      const siblings = this.#children.get(step.parent);
      if (siblings) siblings.push(step);
      else this.#children.set(step.parent, [step]);
    }
  }

  /** The steps under `parent`, one below the other; `base` is the address that theirs begin with. */
  stack(parent: LaneStep | null, base: string, depth: number, only?: (step: LaneStep) => boolean): Part {
    const steps = (this.#children.get(parent?.path ?? null) ?? []).filter((step) => only?.(step) ?? true);
    return stackUp(steps.flatMap((step) => this.#withInjected(step, parent, base, depth)));
  }

  #withInjected(step: LaneStep, parent: LaneStep | null, base: string, depth: number): Part[] {
    const local = parent ? step.path.slice(parent.path.length + 1) : step.path;
    return this.#placeWithInjected(step, base ? `${base}.${local}` : local, depth);
  }

  #placeWithInjected(step: LaneStep, address: string, depth: number, frame: string | null = null): Part[] {
    const beside = (position: "before" | "after") =>
      this.shape.injected
        .filter((each) => placeOf(each) === position && sameStep(hostOf(each.occurrence), address))
        .map((each) => this.#injectedLeaf(each, address, depth));
    return [...beside("before"), this.place(step, address, depth, frame), ...beside("after")];
  }

  #injectedLeaf(injected: StepInjected, address: string, depth: number): Part {
    const mark = callOf(injected.occurrence) === null ? injected.step.lastIndexOf("+") : injected.step.indexOf("/");
    const occurrence = address + injected.step.slice(mark);
    const step = { path: injected.step, kind: injected.type, title: injected.id ?? injected.type, parent: null };
    return leaf({ ...this.#box({ ...step, is_cleanup: false }, occurrence, depth), isInjected: true });
  }

  /** One step at its address, with all that is in it. */
  place(step: LaneStep, address: string, depth: number, frame: string | null = null): Part {
    const box = { ...this.#box(step, address, depth), frame };
    if (!this.#children.has(step.path)) return leaf(box);
    if (this.collapsed.has(address)) return leaf({ ...box, kind: "group", isCollapsed: true });
    const inner = this.#inner(step, box.occurrence, depth + 1);
    const turns = step.kind === "repeat" || step.kind === "fix" ? this.#addresses.turns.get(box.occurrence) : undefined;
    const made = step.kind === "fix" ? Math.max(0, ...(turns ?? [])) : (turns?.size ?? 0); // 0 is before the first fix
    return wrap({ ...box, kind: "group", turns: made }, inner);
  }

  #inner(step: LaneStep, occurrence: string, depth: number): Part {
    switch (step.kind) {
      case "parallel":
        return sideBySide(
          (this.#children.get(step.path) ?? []).map((child) => {
            const address = `${occurrence}.${child.path.slice(step.path.length + 1)}`;
            return { part: stackUp(this.#placeWithInjected(child, address, depth, address)) };
          }),
        );
      case "matrix": {
        const turns = [...(this.#addresses.turns.get(occurrence) ?? [])].sort((one, other) => one - other);
        if (turns.length === 0) return this.stack(step, `${occurrence}[0]`, depth);
        return sideBySide(turns.map((turn) => this.#combination(step, `${occurrence}[${turn}]`, depth)));
      }
      case "fix":
      case "repeat": {
        const turns = this.#addresses.turns.get(occurrence);
        return this.stack(step, `${occurrence}[${turns ? Math.max(...turns) : 0}]`, depth);
      }
      case "background": {
        const isBackground = (child: LaneStep) => child.path === `${step.path}.background`;
        const behind = (this.#children.get(step.path) ?? []).filter(isBackground).map((child) => {
          const address = `${occurrence}.background`;
          return { part: this.place(child, address, depth, address) };
        });
        return sideBySide([...behind, { part: this.stack(step, occurrence, depth, (child) => !isBackground(child)) }]);
      }
      default:
        return this.stack(step, occurrence, depth);
    }
  }

  #combination(step: LaneStep, address: string, depth: number): Lane {
    const title = this.shape.frames.get(address)?.name ?? address.slice(address.lastIndexOf("["));
    const box = { ...this.#box(step, address, depth), title, kind: "lane" as const, frame: address };
    if (this.collapsed.has(address)) return { part: leaf({ ...box, isCollapsed: true }) };
    return { part: wrap(box, this.stack(step, address, depth + 1)) };
  }

  #box(step: LaneStep, address: string, depth: number): Box {
    const attempt = this.#addresses.attempts.get(address) ?? 1;
    return {
      id: address,
      kind: "step",
      path: step.path,
      occurrence: attempt === 1 ? address : `${address}#${attempt}`,
      title: step.title,
      stepKind: step.kind,
      frame: null,
      x: 0,
      y: 0,
      width: STEP_WIDTH,
      height: STEP_HEIGHT,
      depth,
      follows: false,
      isCollapsed: false,
      isCleanup: step.is_cleanup,
      isInjected: false,
      attempt,
      turns: 0,
      inside: this.#countInside(step.path),
    };
  }

  #countInside(path: string): number {
    const known = this.#inside.get(path);
    if (known !== undefined) return known;
    const children = this.#children.get(path) ?? [];
    const count = children.reduce((sum, child) => sum + 1 + this.#countInside(child.path), 0);
    this.#inside.set(path, count);
    return count;
  }
}

/** Where the box of an injected step stands. One before a call runs while the step is at work, so it comes after it. */
function placeOf({ occurrence, position }: StepInjected): "before" | "after" {
  return callOf(occurrence) === null ? position : "after";
}

function sameStep(occurrence: string, address: string): boolean {
  return occurrence === address || occurrence.startsWith(`${address}#`);
}

function leaf(box: Box): Part {
  return { width: box.width, height: box.height, boxes: [box] };
}

/** Moves the part; its boxes are its own, so they are moved in place. */
function move(part: Part, x: number, y: number): Box[] {
  for (const box of part.boxes) {
    box.x += x;
    box.y += y;
  }
  return part.boxes;
}

function stackUp(parts: Part[]): Part {
  const width = Math.max(STEP_WIDTH, ...parts.map((part) => part.width));
  const boxes: Box[] = [];
  let y = 0;
  for (const part of parts) {
    const first = part.boxes[0];
    if (first && y > 0) first.follows = true;
    for (const box of move(part, (width - part.width) / 2, y)) boxes.push(box);
    y += part.height + GAP;
  }
  return { width, height: Math.max(0, y - GAP), boxes };
}

function sideBySide(lanes: Lane[]): Part {
  const parts = lanes.map((lane) => lane.part);
  const perRow = columnsFor(parts);
  const boxes: Box[] = [];
  let y = 0;
  let width = STEP_WIDTH;
  for (let from = 0; from < parts.length; from += perRow) {
    const row = parts.slice(from, from + perRow);
    let x = 0;
    for (const part of row) {
      for (const box of move(part, x, y)) boxes.push(box);
      x += part.width + LANE_GAP;
    }
    width = Math.max(width, x - LANE_GAP);
    y += Math.max(...row.map((part) => part.height)) + LANE_GAP;
  }
  return { width, height: Math.max(0, y - LANE_GAP), boxes };
}

function columnsFor(parts: Part[]): number {
  if (parts.length <= MOST_IN_A_ROW) return Math.max(1, parts.length);
  const mean = (of: (part: Part) => number) => parts.reduce((sum, part) => sum + of(part), 0) / parts.length;
  const [width, height] = [mean((part) => part.width), mean((part) => part.height)];
  return Math.max(MOST_IN_A_ROW, Math.round(Math.sqrt((parts.length * WIDE * height) / width)));
}

function wrap(box: Box, inner: Part): Part {
  const [width, height] = [inner.width + 2 * PADDING, inner.height + HEADER + PADDING];
  return { width, height, boxes: [{ ...box, width, height }, ...move(inner, PADDING, HEADER)] };
}
