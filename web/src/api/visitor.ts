/** Whether this browser is let in, as the server said to what was asked last. */

import { useSyncExternalStore } from "react";

let isKnown = true;
let asked = 0;
let answered = 0;
const listeners = new Set<() => void>();

/** To be called with the status of the answer: 401 means that the server does not know who asks. */
export function noteAsking(): (status: number) => void {
  const number = ++asked;
  return (status) => {
    if (number < answered) return; // it was asked before the user logged in or out, and was only answered after that
    answered = number;
    if (isKnown === (status !== 401)) return;
    isKnown = status !== 401;
    for (const listener of listeners) listener();
  };
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useIsKnown(): boolean {
  return useSyncExternalStore(subscribe, () => isKnown);
}
