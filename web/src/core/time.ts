/** Times and durations in words. */

/** "340 ms", "4.2 s", "3 m 05 s", "2 h 10 m". */
export function formatDuration(seconds: number): string {
  if (seconds < 0) return formatDuration(0);
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} m ${pad(whole % 60)} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${pad(Math.floor(whole / 60) % 60)} m`;
  return `${Math.floor(whole / 86400)} d ${Math.floor(whole / 3600) % 24} h`;
}

/** "just now", "4 min ago", "3 h ago", "yesterday", "12 Mar". */
export function formatAgo(at: number, now: number): string {
  const seconds = now - at;
  if (seconds < 45) return "just now";
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 86400) return `${Math.round(seconds / 3600)} h ago`;
  if (seconds < 172800) return "yesterday";
  return new Date(at * 1000).toLocaleDateString(undefined, { day: "numeric", month: "short" });
}

export function formatClock(at: number): string {
  const date = new Date(at * 1000);
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
}

export function formatMoment(at: number): string {
  return new Date(at * 1000).toLocaleString();
}

export function formatBytes(size: number): string {
  if (size < 1000) return `${size} B`;
  if (size < 1e6) return `${(size / 1e3).toFixed(1)} kB`;
  return size < 1e9 ? `${(size / 1e6).toFixed(1)} MB` : `${(size / 1e9).toFixed(1)} GB`;
}

function pad(number: number): string {
  return String(number).padStart(2, "0");
}
