import { ContextMenu as BaseContext } from "@base-ui/react/context-menu";
import { Menu as Base } from "@base-ui/react/menu";
import type { ReactElement, ReactNode } from "react";
import { classNames } from "@/ui/class-names";
import { Kbd } from "@/ui/kbd";

export type MenuItem =
  | {
      kind?: "item";
      label: string;
      icon?: ReactNode;
      keys?: string;
      isDisabled?: boolean;
      isDanger?: boolean;
      onSelect: () => void;
    }
  | { kind: "separator" };

const POPUP = "rise z-50 min-w-52 rounded-lg border border-line bg-surface p-1 shadow-pop outline-none";

function Items({ items, of }: { items: readonly MenuItem[]; of: typeof Base | typeof BaseContext }) {
  return items.map((item, at) =>
    item.kind === "separator" ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: separators have nothing else to be told by
      <of.Separator key={at} className="my-1 h-px bg-line" />
    ) : (
      <of.Item
        key={item.label}
        disabled={item.isDisabled}
        onClick={item.onSelect}
        className={classNames(
          "flex w-full cursor-default select-none items-center gap-2 rounded-md px-2 py-1.5 outline-none",
          "data-highlighted:bg-hover data-disabled:opacity-45",
          item.isDanger && "text-failed",
        )}
      >
        <span className="flex size-4 items-center justify-center text-muted">{item.icon}</span>
        <span className="flex-1">{item.label}</span>
        {item.keys && <Kbd keys={item.keys} />}
      </of.Item>
    ),
  );
}

export function Menu({ trigger, items }: { trigger: ReactElement; items: readonly MenuItem[] }) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner sideOffset={4} align="end" className="z-50">
          <Base.Popup className={POPUP}>
            <Items items={items} of={Base} />
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

/** What a right click, or the menu key, offers. */
export function ContextMenu({
  children,
  items,
  className,
}: {
  children: ReactNode;
  items: readonly MenuItem[];
  className?: string;
}) {
  return (
    <BaseContext.Root>
      <BaseContext.Trigger className={className}>{children}</BaseContext.Trigger>
      <BaseContext.Portal>
        <BaseContext.Positioner className="z-50">
          <BaseContext.Popup className={POPUP}>
            <Items items={items} of={BaseContext} />
          </BaseContext.Popup>
        </BaseContext.Positioner>
      </BaseContext.Portal>
    </BaseContext.Root>
  );
}

/** Opens the context menu of an element by a key, where a right click on it would. */
export function openMenuOf(element: Element | null): void {
  if (!element) return;
  const { left, bottom, width } = element.getBoundingClientRect();
  const at = { clientX: left + Math.min(width, 48), clientY: bottom };
  element.dispatchEvent(new MouseEvent("contextmenu", { bubbles: true, cancelable: true, button: 2, ...at }));
}
