/** What a breakpoint is for. */

/** Whether it pauses at the tool calls inside a step, and not at the step. */
export function isForCalls(request: { tool?: string | null; path?: string | null }): boolean {
  return Boolean(request.tool || request.path);
}

/** The classes of tools, which are the same for every agent. */
export const TOOL_CLASSES = ["read", "edit", "shell", "search", "web", "mcp", "task", "other"] as const;
