/** What the page remembers in this browser, or in this tab. Nothing depends on it: storage may be off or full. */

const PREFIX = "pitstop.";

export const RECORDS_SHELLS = "shell.record";

export function readSetting<T>(name: string, otherwise: T, place: "browser" | "tab" = "browser"): T {
  try {
    const text = storageOf(place).getItem(PREFIX + name);
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

export function writeSetting(name: string, value: unknown, place: "browser" | "tab" = "browser"): void {
  try {
    storageOf(place).setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // It is then forgotten with the page.
  }
}

function storageOf(place: "browser" | "tab"): Storage {
  return place === "tab" ? sessionStorage : localStorage;
}
