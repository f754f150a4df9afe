import { ChevronDown, ChevronRight, Copy, Eye, Pencil, Pin, Trash2 } from "lucide-react";
import type { TreeRow } from "@/features/debug/variables/use-variable-tree";
import { ValueEditor } from "@/features/debug/variables/value-editor";
import { classNames } from "@/ui/class-names";
import { copyText } from "@/ui/copy";
import { InlineValue } from "@/ui/json-text";
import { ContextMenu } from "@/ui/menu";

type VariableRowProps = {
  id: string;
  row: Extract<TreeRow, { kind: "value" }>;
  top: number;
  height: number;
  isActive: boolean;
  isChanged: boolean;
  isPinned: boolean;
  isEditing: boolean;
  canEdit: boolean;
  onActivate: () => void;
  onToggle: () => void;
  onEdit: () => void;
  onSave: (value: unknown) => void;
  onCancel: () => void;
  onUnset: () => void;
  onWatch: () => void;
  onPin: () => void;
};

/** One value. A double click or Enter edits it; its menu has the rest. */
export function VariableRow({
  id,
  row,
  top,
  height,
  isActive,
  isChanged,
  isPinned,
  isEditing,
  canEdit,
  ...on
}: VariableRowProps) {
  const { variable, depth, isOpen } = row;
  const isContainer = variable.size !== null && variable.name !== variable.path;
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    <ContextMenu
      items={[
        {
          label: "Edit",
          icon: <Pencil className="size-3.5" />,
          keys: "Enter",
          isDisabled: !canEdit,
          onSelect: on.onEdit,
        },
        {
          label: "Copy its path",
          icon: <Copy className="size-3.5" />,
          onSelect: () => copyText(variable.path, variable.path),
        },
        {
          label: "Copy its value",
          icon: <Copy className="size-3.5" />,
          isDisabled: variable.size !== null,
          onSelect: () =>
            copyText(typeof variable.value === "string" ? variable.value : JSON.stringify(variable.value), "the value"),
        },
        { label: isPinned ? "Unpin" : "Pin", icon: <Pin className="size-3.5" />, onSelect: on.onPin },
        { label: "Watch", icon: <Eye className="size-3.5" />, onSelect: on.onWatch },
        { kind: "separator" },
        {
          label: "Remove",
          icon: <Trash2 className="size-3.5" />,
          keys: "Delete",
          isDisabled: !canEdit,
          isDanger: true,
          onSelect: on.onUnset,
        },
      ]}
    >
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus and names its active row */}
      <div
        id={id}
        role="treeitem"
        aria-level={depth + 1}
        aria-expanded={isContainer ? isOpen : undefined}
        aria-selected={isActive}
        aria-label={`${variable.name}: ${variable.preview}${isChanged ? ", changed" : ""}`}
        onClick={on.onActivate}
        onDoubleClick={() => canEdit && variable.size === null && on.onEdit()}
        className={classNames(
          "group absolute inset-x-0 flex items-center gap-1.5 pr-2",
          isActive ? "bg-accent-soft" : "hover:bg-hover",
        )}
        style={{ top, height, paddingLeft: 8 + depth * 14 }}
      >
        {isContainer ? (
          <button type="button" tabIndex={-1} aria-hidden className="text-muted" onClick={on.onToggle}>
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
            value={variable.size === null ? variable.value : undefined}
            onSave={on.onSave}
            onCancel={on.onCancel}
          />
        ) : (
          <>
            <span className="min-w-0 flex-1 truncate">
              <InlineValue type={variable.type} text={variable.preview} />
            </span>
            {variable.set_by && (
              <span className="hidden shrink-0 text-faint text-xs @sm:inline">{variable.set_by}</span>
            )}
            {canEdit && (
              <button
                type="button"
                tabIndex={-1}
                aria-label={`Edit ${variable.path}`}
                className="shrink-0 text-faint opacity-0 hover:text-text group-hover:opacity-100"
                onClick={on.onEdit}
              >
                <Pencil className="size-3" />
              </button>
            )}
            <button
              type="button"
              tabIndex={-1}
              aria-label={`Copy the path ${variable.path}`}
              className="shrink-0 text-faint opacity-0 hover:text-text group-hover:opacity-100"
              onClick={() => copyText(variable.path, variable.path)}
            >
              <Copy className="size-3" />
            </button>
          </>
        )}
      </div>
    </ContextMenu>
  );
}
