import { readSetting } from "@/ui/settings";

export type Theme = "light" | "dark" | "system";

/** Show the page in a theme and remember it; public/first.js does the same before the first paint. */
export function applyTheme(theme: Theme): void {
  try {
    if (theme === "system") localStorage.removeItem("pitstop.theme");
    else localStorage.setItem("pitstop.theme", theme);
  } catch {
    // It is then forgotten with the page.
  }
  const isDark = theme === "dark" || (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
}

export function toggleTheme(): void {
  applyTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
}

/** Whether the person asked to be told of stops outside the page. */
export function wantsNotifications(): boolean {
  return readSetting("notify", true) && "Notification" in window && Notification.permission === "granted";
}
