import { useEffect, useState } from "react";
import type { LogBuffer } from "@/core/log-buffer";

const SLICE = 20_000; // lines looked at in one go, so that the page never stands still

/** The indices of the lines that have the text in them, found a slice at a time and kept up with what is appended. */
export function useSearch(buffer: LogBuffer, length: number, text: string): number[] {
  const [progress, setProgress] = useState<{ buffer: LogBuffer; text: string; found: number[]; next: number }>(() => ({
    buffer,
    text,
    found: [],
    next: 0,
  }));
  const isSame = progress.buffer === buffer && progress.text === text;

  useEffect(() => {
    if (!isSame) setProgress({ buffer, text, found: [], next: 0 });
    else if (text && progress.next < length) {
      const timer = setTimeout(() => {
        const { found, next } = buffer.search(text, progress.next, SLICE);
        setProgress({ buffer, text, found: found.length > 0 ? [...progress.found, ...found] : progress.found, next });
      }, 0);
      return () => clearTimeout(timer);
    }
  }, [buffer, length, text, progress, isSame]);

  return isSame ? progress.found : [];
}
