import { Copy, Eye, Pencil, Pin, Trash2 } from "lucide-react";
import type { VariableInfo } from "@/api/types";
import { copyText } from "@/ui/copy";
import type { MenuItem } from "@/ui/menu";

export type VariableActions = {
  edit: (variable: VariableInfo) => void;
  unset: (path: string) => void;
  watch: (path: string) => void;
  pin: (path: string) => void;
};

type VariableMenu = { isPinned: boolean; canEdit: boolean; isViewer: boolean; on: VariableActions };

/** What can be done with a value by its menu; a viewer can only copy. */
export function variableMenu(
  variable: VariableInfo | undefined,
  { isPinned, canEdit, isViewer, on }: VariableMenu,
): MenuItem[] {
  if (!variable) return [{ label: "No value here", isDisabled: true, onSelect: () => {} }];
  const { path, value, size } = variable;
  const copying: MenuItem[] = [
    { label: "Copy path", icon: <Copy className="size-3.5" />, keys: "C", onSelect: () => copyText(path, path) },
    {
      label: "Copy value",
      icon: <Copy className="size-3.5" />,
      isDisabled: size !== null,
      onSelect: () => copyText(typeof value === "string" ? value : JSON.stringify(value), "value"),
    },
  ];
  if (isViewer) return copying;
  return [
    {
      label: "Edit",
      icon: <Pencil className="size-3.5" />,
      keys: "Enter",
      isDisabled: !canEdit,
      onSelect: () => on.edit(variable),
    },
    ...copying,
    {
      label: isPinned ? "Unpin" : "Pin",
      icon: <Pin className="size-3.5" />,
      keys: "P",
      onSelect: () => on.pin(path),
    },
    { label: "Watch", icon: <Eye className="size-3.5" />, keys: "W", onSelect: () => on.watch(path) },
    { kind: "separator" },
    {
      label: "Remove",
      icon: <Trash2 className="size-3.5" />,
      keys: "Delete",
      isDisabled: !canEdit,
      isDanger: true,
      onSelect: () => on.unset(path),
    },
  ];
}
