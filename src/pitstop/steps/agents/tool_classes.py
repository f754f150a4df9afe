"""The tools of each agent CLI by class, and the files and the command that a call is about."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from pitstop.steps.agents.any_json import objects_at, text_at
from pitstop.steps.agents.reports import Called, ToolClass

_TOOLS: dict[str, dict[ToolClass, str]] = {
    "claude": {
        "read": "Read NotebookRead",
        "edit": "Edit MultiEdit Write NotebookEdit",
        "shell": "Bash PowerShell Monitor REPL",
        "search": "Glob Grep LS",
        "web": "WebFetch WebSearch",
        "mcp": "ListMcpResourcesTool ReadMcpResourceTool ReadMcpResourceDirTool",
        "task": "Agent Task SendMessage Workflow",
    },
    "codex": {
        "read": "read_file view_image",
        "edit": "apply_patch file_change Edit Write",
        "shell": "Bash command_execution shell shell_command local_shell local_shell_call container.exec "
        "exec_command write_stdin js_repl",
        "search": "list_dir grep_files",
        "web": "web_search web_search_call",
        "mcp": "mcp_tool_call list_mcp_resources list_mcp_resource_templates read_mcp_resource",
        "task": "collab_tool_call spawn_agent send_input send_message followup_task resume_agent wait wait_agent "
        "close_agent",
    },
    "gemini": {
        "read": "read_file read_many_files get_internal_docs",
        "edit": "write_file replace",
        "shell": "run_shell_command",
        "search": "glob grep_search search_file_content list_directory",
        "web": "web_fetch google_web_search",
        "mcp": "list_mcp_resources read_mcp_resource",
        "task": "invoke_agent codebase_investigator",
    },
    "opencode": {
        "read": "read lsp",
        "edit": "edit multiedit write patch apply_patch",
        "shell": "bash shell",
        "search": "grep glob list",
        "web": "webfetch websearch codesearch",
        "task": "task",
    },
}
_CLASSES: dict[str, dict[str, ToolClass]] = {
    agent: {name: tool for tool, names in tools.items() for name in names.split()} for agent, tools in _TOOLS.items()
}
_MCP_PREFIXES = {"claude": "mcp__", "codex": "mcp__", "gemini": "mcp_"}  # opencode has none
_PATH_FIELDS = ("file_path", "path", "absolute_path", "filePath", "notebook_path", "dir_path")
_PATH_LIST_FIELDS = ("paths", "file_paths", "include")
_COMMAND_FIELDS = ("command", "cmd", "chars", "code")
_PATCH_FIELDS = (*_COMMAND_FIELDS, "input", "patch", "patchText")
_PATCH_BEGIN = "*** Begin Patch"
_PATCHED_FILE = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$", re.MULTILINE)
_PATCH_COMMAND = re.compile(r"\s*apply_?patch\s*<<\s*(['\"])(\w+)\1\n(?P<patch>.*)\n\2\s*", re.DOTALL)


def classify(agent: str, name: str, given: Mapping[str, Any]) -> tuple[ToolClass, tuple[str, ...], str | None]:
    """The class of a tool call, its paths as the agent wrote them, and the command of a shell.

    `agent` is the name of its stream; a tool that it does not know is `other`.
    """
    is_mcp = agent in _MCP_PREFIXES and name.startswith(_MCP_PREFIXES[agent])
    tool = _CLASSES.get(agent, {}).get(name) or ("mcp" if is_mcp else "other")
    command = _command(given) if tool == "shell" else None
    paths = tuple(dict.fromkeys(_paths(given)))
    is_patch = agent == "codex" and command is not None and _only_patches(command)  # codex runs no shell for it
    return "edit" if is_patch else tool, paths, command


def called(agent: str, call: str, name: str, given: Mapping[str, Any], parent: str | None = None) -> Called:
    """A tool call as a report."""
    tool, paths, command = classify(agent, name, given)
    return Called(call, name, tool, given, paths, command, parent)


def _only_patches(command: str) -> bool:
    """Whether all that a command does is to apply a patch."""
    found = _PATCH_COMMAND.fullmatch(command) if _PATCH_BEGIN in command else None
    return found is not None and found[2] not in found["patch"].split("\n")


def _command(given: Mapping[str, Any]) -> str | None:
    for field in _COMMAND_FIELDS:
        value = given.get(field)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            words = [str(word) for word in value]
            is_script = len(words) == 3 and words[0].endswith("sh") and words[1] in ("-c", "-lc")
            return words[2] if is_script else shlex.join(words)
    action = given.get("action")
    return _command(action) if isinstance(action, dict) else None


def _paths(given: Mapping[str, Any]) -> Iterator[str]:
    for field, value in given.items():
        if isinstance(value, str):
            if value and field in _PATH_FIELDS:
                yield value
            elif field in _PATCH_FIELDS and _PATCH_BEGIN in value:
                yield from _PATCHED_FILE.findall(value)
        elif isinstance(value, list):
            if field in _PATH_LIST_FIELDS:
                yield from (path for path in value if isinstance(path, str))
            elif field == "changes":
                yield from (path for change in objects_at(given, field) if (path := text_at(change, "path")))
