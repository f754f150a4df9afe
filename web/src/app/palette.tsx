import { Dialog as Base } from "@base-ui/react/dialog";
import { type KeyboardEvent, useState } from "react";
import { useAllCommands } from "@/app/commands";
import { keysOf } from "@/core/keys";
import { classNames } from "@/ui/class-names";
import { Kbd } from "@/ui/kbd";

/** Everything that can be done now, found by its name. */
export function Palette({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-black/30" />
        <Base.Popup
          aria-label="Commands"
          className="rise fixed top-[14vh] left-1/2 z-50 w-[min(92vw,34rem)] -translate-x-1/2 overflow-hidden rounded-lg border border-line bg-surface shadow-pop"
        >
          <Commands onClose={onClose} />
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

function Commands({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const commands = useAllCommands()
    .filter((each) => each.isPossible !== false && words.every((word) => each.title.toLowerCase().includes(word)))
    .sort((one, other) => Number(!one.shortcut) - Number(!other.shortcut)); // what has a key is wanted most
  const run = (index: number) => {
    const command = commands[index];
    if (!command) return;
    onClose();
    command.run();
  };
  const press = (event: KeyboardEvent) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    if (to !== undefined) setAt((to + commands.length) % Math.max(1, commands.length));
    else if (event.key === "Enter") run(at);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <input
        // biome-ignore lint/a11y/noAutofocus: it is opened to be written in
        autoFocus
        role="combobox"
        aria-label="Search commands"
        aria-expanded
        aria-controls="palette-commands"
        aria-activedescendant={commands[at] ? `command-${at}` : undefined}
        placeholder="Search or run a command"
        className="h-11 w-full border-line border-b bg-transparent px-4 text-lg outline-none placeholder:text-faint"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <div id="palette-commands" role="listbox" aria-label="Commands" className="max-h-80 overflow-auto p-1">
        {commands.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the active one
          <div
            key={command.id}
            id={`command-${index}`}
            role="option"
            aria-selected={index === at}
            ref={index === at ? intoView : undefined}
            onMouseMove={() => setAt(index)}
            onClick={() => run(index)}
            className={classNames(
              "flex cursor-default items-center justify-between rounded-md px-3 py-1.5",
              index === at && "bg-accent-soft",
            )}
          >
            {command.title}
            {command.shortcut && <Kbd keys={keysOf(command.shortcut)} />}
          </div>
        ))}
        {commands.length === 0 && <div className="px-3 py-2 text-muted">No matching commands</div>}
      </div>
    </>
  );
}

function intoView(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}
