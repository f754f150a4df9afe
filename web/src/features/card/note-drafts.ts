/** Notes that are being written. They survive whatever is asked for anew, and the page itself in this tab. */

import { useState, useSyncExternalStore } from "react";
import type { Side } from "@/core/patch-lines";
import { readSetting, writeSetting } from "@/ui/settings";

/** The line that a note is to be on, at the commit that was shown when it was begun. */
export type DraftPlace = { file: string; line: number; side: Side; sha: string };

export type Draft = { id: string; place: DraftPlace | null; text: string };

export const GENERAL = "general";

export class NoteDrafts {
  #drafts: readonly Draft[];
  #places: readonly Draft[]; // changes only when a form opens or closes
  #listeners = new Set<() => void>();

  constructor(readonly card: string) {
    this.#drafts = readSetting<Draft[]>(this.#setting, [], "tab");
    this.#places = this.#drafts;
  }

  get #setting(): string {
    return `card.drafts.${this.card}`;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** The forms that are open; another list only when one of them opens or closes. */
  places = (): readonly Draft[] => this.#places;

  text(id: string): string {
    return this.#drafts.find((draft) => draft.id === id)?.text ?? "";
  }

  open(place: DraftPlace): void {
    const id = `${place.sha} ${place.side} ${place.line} ${place.file}`;
    if (!this.#drafts.some((draft) => draft.id === id)) this.#change([...this.#drafts, { id, place, text: "" }], true);
  }

  write(id: string, text: string): void {
    const isKnown = this.#drafts.some((draft) => draft.id === id);
    if (!isKnown) this.#change([...this.#drafts, { id, place: null, text }], true);
    else this.#change(this.#drafts.map((draft) => (draft.id === id ? { ...draft, text } : draft)));
  }

  drop(id: string): void {
    this.#change(
      this.#drafts.filter((draft) => draft.id !== id),
      true,
    );
  }

  #change(drafts: readonly Draft[], opensOrCloses = false): void {
    this.#drafts = drafts;
    if (opensOrCloses) this.#places = drafts;
    writeSetting(this.#setting, drafts, "tab");
    for (const listener of this.#listeners) listener();
  }
}

export function useNoteDrafts(card: string): NoteDrafts {
  const [drafts, setDrafts] = useState(() => new NoteDrafts(card));
  if (drafts.card === card) return drafts;
  const others = new NoteDrafts(card);
  setDrafts(others);
  return others;
}

export function useDraftPlaces(drafts: NoteDrafts): readonly Draft[] {
  return useSyncExternalStore(drafts.subscribe, drafts.places);
}

export function useDraftText(drafts: NoteDrafts, id: string): string {
  return useSyncExternalStore(drafts.subscribe, () => drafts.text(id));
}
