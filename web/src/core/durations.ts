/** How long a run, a frame or a step ran and was paused. The same definition as `events/durations.py`. */

/** Seconds that something ran, was paused, and lasted in all. The rest of the total had no process. */
export type Durations = { ran: number; paused: number; total: number };

/** The time of one thing, up to `since`. It goes on from there unless `ended_at` says when it ended. */
export type Clock = {
  readonly began_at: number;
  readonly since: number;
  readonly ran_seconds: number;
  readonly paused_seconds: number;
  readonly is_paused: boolean;
  readonly ended_at: number | null;
  /** When it was paused, from and to, up to `since`. */
  readonly pauses: readonly Stretch[];
};

export type Stretch = readonly [from: number, to: number];

/** A clock that begins; `waited` are the seconds at the stop before. */
export function newClock(at: number, waited = 0): Clock {
  const began_at = at - waited;
  const pauses: Stretch[] = waited > 0 ? [[began_at, at]] : [];
  return { began_at, since: at, ran_seconds: 0, paused_seconds: waited, is_paused: false, ended_at: null, pauses };
}

export function passTo(clock: Clock, at: number): Clock {
  if (clock.ended_at !== null) return clock;
  const passed = Math.max(0, at - clock.since);
  return clock.is_paused
    ? { ...clock, paused_seconds: clock.paused_seconds + passed, since: at, pauses: pausesOf(clock, at) }
    : { ...clock, ran_seconds: clock.ran_seconds + passed, since: at };
}

export function setPaused(clock: Clock, isPaused: boolean, at: number): Clock {
  return isPaused === clock.is_paused ? clock : { ...passTo(clock, at), is_paused: isPaused };
}

export function endClock(clock: Clock, at: number): Clock {
  return { ...passTo(clock, at), is_paused: false, ended_at: clock.ended_at ?? at };
}

/** Continue what had ended, or what its process left behind. The time in between is not counted. */
export function goOn(clock: Clock, at: number, isPaused = false): Clock {
  if (clock.ended_at === null && clock.is_paused) return clock;
  return { ...clock, since: at, is_paused: isPaused, ended_at: null };
}

/** Up to now, or up to the end. */
export function durationsOf(clock: Clock, now: number): Durations {
  const passed = clock.ended_at === null ? Math.max(0, now - clock.since) : 0;
  return {
    ran: clock.ran_seconds + (clock.is_paused ? 0 : passed),
    paused: clock.paused_seconds + (clock.is_paused ? passed : 0),
    total: (clock.ended_at ?? now) - clock.began_at,
  };
}

/** When it was paused, up to now: a pause that lasts ends now. */
export function pausesOf({ pauses, is_paused, since }: Clock, now: number): readonly Stretch[] {
  return is_paused && now > since ? [...pauses, [since, now]] : pauses;
}

/** A frame that has not ended: what opened it, its open steps from the outermost, and whether it is at a stop. */
export type LiveFrame = {
  id: string;
  parent: string | null;
  opener: string | null;
  steps: readonly string[];
  isAtStop: boolean;
};

/** The frames, and the open steps, in which everything that lives is paused. */
export function pausedIn(live: readonly LiveFrame[]): { frames: Set<string>; steps: Set<string> } {
  const children = new Map<string | null, LiveFrame[]>();
  for (const frame of live) {
    const siblings = children.get(frame.parent);
    if (siblings) siblings.push(frame);
    else children.set(frame.parent, [frame]);
  }
  const frames = new Set<string>();
  const steps = new Set<string>();

  function look(frame: LiveFrame): boolean {
    const inside = (children.get(frame.id) ?? []).map((child) => ({ opener: child.opener, isPaused: look(child) }));
    const innermost = frame.steps.at(-1) ?? null;
    const isWaiting = inside.some(({ opener }) => innermost === null || innermost === opener);
    let isPaused = frame.isAtStop || isWaiting;
    for (const step of [...frame.steps].reverse()) {
      isPaused &&= inside.every((child) => child.opener !== step || child.isPaused);
      if (isPaused) steps.add(step); // it has in it what those before it have
    }
    if (!isPaused || !inside.every((child) => child.isPaused)) return false;
    frames.add(frame.id);
    return true;
  }

  for (const top of children.get(null) ?? []) look(top);
  return { frames, steps };
}
