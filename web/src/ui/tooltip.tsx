import { Tooltip as Base } from "@base-ui/react/tooltip";
import type { ReactElement, ReactNode } from "react";
import { Kbd } from "@/ui/kbd";

type TooltipProps = { text: ReactNode; keys?: string; children: ReactElement };

export function Tooltip({ text, keys, children }: TooltipProps) {
  return (
    <Base.Root>
      <Base.Trigger render={children} />
      <Base.Portal>
        <Base.Positioner sideOffset={6} className="z-60">
          <Base.Popup className="rise flex max-w-80 items-center gap-2 rounded-md bg-text px-2 py-1 text-canvas text-sm shadow-pop">
            {text}
            {keys && <Kbd keys={keys} isInverse />}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

export function TooltipProvider({ children }: { children: ReactNode }) {
  return (
    <Base.Provider delay={350} closeDelay={0}>
      {children}
    </Base.Provider>
  );
}
