import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";

const BEYOND = 12; // rows that are drawn before they are to be seen

/** Rows of one height in a box that scrolls, of which only those to be seen are drawn. */
export function useVirtualRows(count: number, height: number, beyond = BEYOND) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => height,
    overscan: beyond,
  });
  return { box, virtual };
}
