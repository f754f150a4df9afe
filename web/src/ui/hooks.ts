import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { readSetting, writeSetting } from "@/ui/settings";

export function useMediaQuery(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = matchMedia(query);
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    () => matchMedia(query).matches,
  );
}

/** The time now in seconds since the epoch, kept current while `isOn`. */
export function useNow(isOn: boolean, everyMilliseconds = 1000): number {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    if (!isOn) return;
    setNow(Date.now() / 1000);
    const timer = setInterval(() => setNow(Date.now() / 1000), everyMilliseconds);
    return () => clearInterval(timer);
  }, [isOn, everyMilliseconds]);
  return now;
}

/** State that is remembered in this browser. */
export function useSetting<T>(name: string, otherwise: T): [T, (value: T) => void] {
  const [value, setValue] = useState(() => readSetting(name, otherwise));
  const change = useCallback(
    (next: T) => {
      setValue(next);
      writeSetting(name, next);
    },
    [name],
  );
  return [value, change];
}

/** The value, once it has been the same for a while. */
export function useDebounced<T>(value: T, milliseconds: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
}
