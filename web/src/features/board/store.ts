import { useSyncExternalStore } from "react";

/** A value outside of React, of which each component reads only what it draws: a drag does not draw the board again. */
export class Store<Value> {
  #value: Value;
  #listeners = new Set<() => void>();

  constructor(value: Value) {
    this.#value = value;
  }

  get = (): Value => this.#value;

  set(value: Value): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const listener of [...this.#listeners]) listener();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

/** What a component needs of a store: a plain value, so that it is drawn again only when that changes. */
export function useStore<Value, Part extends string | number | boolean | null>(
  store: Store<Value>,
  select: (value: Value) => Part,
): Part {
  return useSyncExternalStore(store.subscribe, () => select(store.get()));
}
