import { formatAgo, formatMoment } from "@/core/time";

/** How long ago something was, with the exact time in a tooltip. */
export function Ago({ at, now, className }: { at: number; now: number; className?: string }) {
  return (
    <time className={className} title={formatMoment(at)} dateTime={new Date(at * 1000).toISOString()}>
      {formatAgo(at, now)}
    </time>
  );
}
