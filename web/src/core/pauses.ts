/** When a run stood still: the stops of its frames as stretches of time. */

import type { RunEvent } from "@/core/events";

export type Pause = { stop: number; frame: string; occurrence: string; from: number; to: number | null };

/** Takes the next event of a run; the pauses are those so far, one that lasts with no end. */
export class Pauses {
  readonly all: Pause[] = [];

  apply(event: RunEvent): void {
    switch (event.kind) {
      case "debug.stopped":
        this.all.push({ stop: event.stop, frame: event.frame, occurrence: event.occurrence, from: event.at, to: null });
        break;
      case "debug.resumed":
      case "debug.stop_ended": {
        const pause = this.all.find((each) => each.stop === event.stop && each.to === null);
        if (pause) pause.to = event.at;
        break;
      }
      case "run.ended":
        for (const pause of this.all) pause.to ??= event.at;
        break;
    }
  }
}

/** Whether what happens at `occurrence` happens inside `outer` too. */
export function isWithin(occurrence: string, outer: string): boolean {
  return occurrence === outer || (occurrence.startsWith(outer) && /^[.[+#]/.test(occurrence.slice(outer.length)));
}

/** The stretches in which a step stood still, between `from` and `to`, joined where they overlap. */
export function pausedWithin(
  pauses: readonly Pause[],
  occurrence: string,
  from: number,
  to: number,
): [number, number][] {
  const joined: [number, number][] = [];
  const stretches = pauses
    .filter((pause) => isWithin(pause.occurrence, occurrence))
    .map((pause): [number, number] => [Math.max(from, pause.from), Math.min(to, pause.to ?? to)])
    .filter(([start, end]) => end > start)
    .sort(([one], [other]) => one - other);
  for (const [start, end] of stretches) {
    const last = joined.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else joined.push([start, end]);
  }
  return joined;
}
