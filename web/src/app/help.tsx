import { SHORTCUTS } from "@/core/keys";
import { Dialog } from "@/ui/dialog";
import { Kbd } from "@/ui/kbd";

export function Help({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" isOpen={isOpen} onClose={onClose} width={560}>
      <div className="grid gap-x-8 gap-y-4 sm:grid-cols-2">
        {(["Debugger", "Page", "Board", "Playground", "Anywhere"] as const).map((group) => (
          <section key={group}>
            <h3 className="mb-1 font-semibold text-muted text-sm">{group}</h3>
            <dl>
              {SHORTCUTS.filter((each) => each.group === group).map((each) => (
                <div key={each.id} className="flex items-center justify-between gap-4 py-0.5">
                  <dt>{each.does}</dt>
                  <dd>
                    <Kbd keys={each.keys} />
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p className="mt-4 text-muted">
        In the graph, the list, the trees and the board, use the arrow keys to move and Enter to select. On the board,
        Space picks up a card and drops it.
      </p>
    </Dialog>
  );
}
