/** Whether this browser is let in, as the server's last answer said. */

import { useSyncExternalStore } from "react";

let isKnown = true;
const listeners = new Set<() => void>();

/** Take note of how the server answered: 401 means that it does not know who asks. */
export function noteStatus(status: number): void {
  if (isKnown === (status !== 401)) return;
  isKnown = status !== 401;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useIsKnown(): boolean {
  return useSyncExternalStore(subscribe, () => isKnown);
}
