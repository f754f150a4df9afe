/** What the page remembers in this browser. Nothing depends on it: storage may be off or full. */

const PREFIX = "pitstop.";

export function readSetting<T>(name: string, otherwise: T): T {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

export function writeSetting(name: string, value: unknown): void {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // It is then forgotten with the page.
  }
}
