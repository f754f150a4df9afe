import { expect, test } from "vitest";
import { layOut } from "@/core/lanes";
import { firstViewport } from "@/features/graph/navigation";

const NOTHING = { occurrences: [], frames: new Map(), injected: [] };
const step = (path: string, parent: string | null = null, kind = "run") => ({
  path,
  kind,
  title: path,
  parent,
  is_cleanup: false,
});
const BRANCHES = Array.from({ length: 6 }, (_, at) => step(`all.b${at}`, "all"));
const WIDE = layOut([step("build"), step("all", null, "parallel"), ...BRANCHES], NOTHING, new Set());

test("a graph that is wider than the screen begins where its first step is to be seen", () => {
  const { x, zoom } = firstViewport(WIDE, { width: 390, height: 600 });
  const [first] = WIDE.boxes;

  expect(first?.path).toBe("build");
  expect((first?.x ?? 0) * zoom + x).toBeGreaterThanOrEqual(0);
  expect(((first?.x ?? 0) + (first?.width ?? 0)) * zoom + x).toBeLessThanOrEqual(390);
});

test("a graph that fits stands in the middle", () => {
  const { x, zoom } = firstViewport(WIDE, { width: 2000, height: 900 });

  expect(x * 2 + WIDE.width * zoom).toBeCloseTo(2000);
});
