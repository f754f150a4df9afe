import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { Kbd } from "@/ui/kbd";

const DELAY = 350; // milliseconds; none while the pointer goes from one to the next
const GAP = 6;

/** Gives an element a tooltip; those who cannot see it are told by the element's own label. */
export function tip(text: string, keys?: string) {
  return { "data-tip": text, "data-tip-keys": keys };
}

type Shown = { text: string; keys: string | undefined; at: DOMRect };

/** The tooltip of whatever is pointed at or has the focus. One for the whole page: a button costs nothing more for having one. */
export function Tooltips() {
  const [shown, setShown] = useState<Shown | null>(null);
  const box = useRef<HTMLDivElement>(null);

  useEffect(() => {
    let owner: HTMLElement | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let hiddenAt = 0;
    let lastKey = ""; // a dialog that puts the focus somewhere does not show what that is
    const show = (element: HTMLElement) => {
      const { tip: text = "", tipKeys: keys } = element.dataset;
      if (element.isConnected) setShown({ text, keys, at: element.getBoundingClientRect() });
    };
    const hide = () => {
      clearTimeout(timer);
      owner = null;
      setShown((now) => {
        if (now) hiddenAt = performance.now();
        return null;
      });
    };
    const point = ({ target }: Event) => {
      const element = target instanceof Element ? target.closest<HTMLElement>("[data-tip]") : null;
      if (element === owner) return;
      hide();
      owner = element;
      if (element) timer = setTimeout(() => show(element), performance.now() - hiddenAt < DELAY ? 0 : DELAY);
    };
    const focus = ({ target }: Event) => {
      if (lastKey !== "Tab" || !(target instanceof HTMLElement) || !target.matches("[data-tip]:focus-visible")) return;
      owner = target;
      show(target);
    };
    const press = ({ key }: KeyboardEvent) => {
      lastKey = key;
      if (key === "Escape") hide();
    };
    document.addEventListener("pointerover", point);
    document.addEventListener("pointerdown", hide);
    document.addEventListener("focusin", focus);
    document.addEventListener("focusout", hide);
    document.addEventListener("keydown", press);
    document.addEventListener("scroll", hide, true);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("pointerover", point);
      document.removeEventListener("pointerdown", hide);
      document.removeEventListener("focusin", focus);
      document.removeEventListener("focusout", hide);
      document.removeEventListener("keydown", press);
      document.removeEventListener("scroll", hide, true);
    };
  }, []);

  useLayoutEffect(() => {
    if (!box.current || !shown) return;
    const { width, height } = box.current.getBoundingClientRect();
    const { left, top, bottom, width: wide } = shown.at;
    const x = Math.min(Math.max(GAP, left + wide / 2 - width / 2), innerWidth - width - GAP);
    const y = top - height - GAP > 0 ? top - height - GAP : bottom + GAP;
    box.current.style.translate = `${Math.round(x)}px ${Math.round(y)}px`;
  }, [shown]);

  if (!shown) return null;
  return createPortal(
    <div
      ref={box}
      aria-hidden
      className="pointer-events-none fixed top-0 left-0 z-60 flex max-w-80 items-center gap-2 rounded-md bg-text px-2 py-1 text-canvas text-sm shadow-pop"
    >
      {shown.text}
      {shown.keys && <Kbd keys={shown.keys} isInverse />}
    </div>,
    document.body,
  );
}
