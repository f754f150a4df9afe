import { ChevronDown, ChevronRight, Copy, Pencil } from "lucide-react";
import { memo } from "react";
import type { VariableInfo } from "@/api/types";
import { formatBytes } from "@/core/time";
import type { TreeRow } from "@/features/debug/variables/use-variable-tree";
import { ValueEditor } from "@/features/debug/variables/value-editor";
import { classNames } from "@/ui/class-names";
import { copyText } from "@/ui/copy";
import { InlineValue } from "@/ui/json-text";

export type RowActions = {
  activate: (path: string, index: number) => void;
  toggle: (path: string) => void;
  edit: (variable: VariableInfo) => void;
  save: (path: string, value: unknown) => void;
  cancel: () => void;
};

type VariableRowProps = {
  index: number;
  row: Extract<TreeRow, { kind: "value" }>;
  top: number;
  height: number;
  isActive: boolean;
  isChanged: boolean;
  isEditing: boolean;
  canEdit: boolean;
  on: RowActions;
};

/** One value. A double click or Enter edits it; its menu has the rest. */
export const VariableRow = memo(function VariableRow({
  index,
  row,
  top,
  height,
  isActive,
  isChanged,
  isEditing,
  canEdit,
  on,
}: VariableRowProps) {
  const { variable, depth, isOpen } = row;
  const isContainer = variable.size !== null && variable.name !== variable.path;
  const size = isContainer && variable.bytes !== null ? formatBytes(variable.bytes) : "";
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus and names its active row
    <div
      id={`variable-${index}`}
      data-row={index}
      role="treeitem"
      aria-level={depth + 1}
      aria-expanded={isContainer ? isOpen : undefined}
      aria-selected={isActive}
      aria-label={`${variable.name}: ${variable.preview} ${size} ${variable.set_by ?? ""}${isChanged ? ", changed" : ""}`}
      onClick={() => on.activate(variable.path, index)}
      onDoubleClick={() => canEdit && on.edit(variable)}
      className={classNames(
        "group absolute inset-x-0 flex items-center gap-1.5 pr-2",
        isActive ? "bg-accent-soft" : "hover:bg-hover",
      )}
      style={{ top, height, paddingLeft: 8 + depth * 14 }}
    >
      {isContainer ? (
        <button
          type="button"
          tabIndex={-1}
          aria-hidden
          className="text-muted"
          onClick={() => on.toggle(variable.path)}
          onDoubleClick={(event) => event.stopPropagation()}
        >
          <Chevron className="size-3.5" />
        </button>
      ) : (
        <span className="w-3.5 shrink-0" />
      )}
      <span
        className={classNames(
          "max-w-[60%] shrink-0 truncate font-mono text-sm",
          isChanged && "rounded-xs bg-paused-soft px-0.5 font-semibold text-paused",
        )}
      >
        {variable.name}
      </span>
      {isEditing ? (
        <ValueEditor
          path={variable.path}
          value={variable.value}
          onSave={(value) => on.save(variable.path, value)}
          onCancel={on.cancel}
        />
      ) : (
        <>
          <span className="min-w-0 flex-1 truncate">
            <InlineValue type={variable.type} text={variable.preview} />
          </span>
          {size && <span className="hidden shrink-0 text-faint text-xs tabular @xs:inline">{size} </span>}
          {variable.set_by && <span className="hidden shrink-0 text-faint text-xs @sm:inline">{variable.set_by}</span>}
          {canEdit && (
            <RowButton label={`Edit ${variable.path}`} onPress={() => on.edit(variable)}>
              <Pencil className="size-3" />
            </RowButton>
          )}
          <RowButton label={`Copy the path ${variable.path}`} onPress={() => copyText(variable.path, variable.path)}>
            <Copy className="size-3" />
          </RowButton>
        </>
      )}
    </div>
  );
});

type RowButtonProps = { label: string; onPress: () => void; children: React.ReactNode };

/** What is seen when the pointer is on the row; the keys of the tree do the same. */
function RowButton({ label, onPress, children }: RowButtonProps) {
  return (
    <button
      type="button"
      tabIndex={-1}
      aria-label={label}
      className="shrink-0 text-faint opacity-0 hover:text-text group-hover:opacity-100"
      onClick={onPress}
    >
      {children}
    </button>
  );
}
