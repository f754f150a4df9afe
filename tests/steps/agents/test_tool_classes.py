from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.steps.agents.reports import ToolClass
from pitstop.steps.agents.tool_classes import classify

PATCH = """*** Begin Patch
*** Add File: docs/new.md
+*** Delete File: inside.txt
*** Update File: src/old.py
*** Move to: src/new.py
@@
-a
+b
*** Delete File: gone.txt
*** End Patch"""
PATCHED = ("docs/new.md", "src/old.py", "src/new.py", "gone.txt")


@pytest.mark.parametrize(
    ("agent", "names", "tool"),
    [
        ("claude", "Read", "read"),
        ("claude", "Edit MultiEdit Write NotebookEdit", "edit"),
        ("claude", "Bash", "shell"),
        ("claude", "Glob Grep", "search"),
        ("claude", "WebFetch WebSearch", "web"),
        ("claude", "Task Agent", "task"),
        ("claude", "mcp__github__create_issue ReadMcpResourceTool", "mcp"),
        ("claude", "TodoWrite BashOutput KillShell Skill mcp_x", "other"),
        ("codex", "Bash command_execution shell local_shell exec_command write_stdin", "shell"),
        ("codex", "apply_patch file_change", "edit"),
        ("codex", "mcp_tool_call mcp__db__query", "mcp"),
        ("codex", "web_search", "web"),
        ("codex", "view_image", "read"),
        ("codex", "spawn_agent wait", "task"),
        ("codex", "update_plan", "other"),
        ("gemini", "run_shell_command", "shell"),
        ("gemini", "read_file read_many_files", "read"),
        ("gemini", "write_file replace", "edit"),
        ("gemini", "glob grep_search search_file_content list_directory", "search"),
        ("gemini", "web_fetch google_web_search", "web"),
        ("gemini", "mcp_github_create_issue", "mcp"),
        ("gemini", "save_memory write_todos", "other"),
        ("opencode", "bash", "shell"),
        ("opencode", "read", "read"),
        ("opencode", "edit write patch", "edit"),
        ("opencode", "grep glob list", "search"),
        ("opencode", "webfetch", "web"),
        ("opencode", "task", "task"),
        ("opencode", "todowrite", "other"),
        ("unheard-of", "Bash Read", "other"),
    ],
)
def test_one_class_fits_the_tools_of_every_agent(agent: str, names: str, tool: ToolClass) -> None:
    assert {classify(agent, name, {})[0] for name in names.split()} == {tool}


@pytest.mark.parametrize(
    ("agent", "name", "given", "paths"),
    [
        ("claude", "Edit", {"file_path": "/w/a.py", "old_string": "x"}, ("/w/a.py",)),
        ("claude", "Write", {"file_path": "/w/a.md", "content": PATCH}, ("/w/a.md",)),
        ("claude", "NotebookEdit", {"notebook_path": "a.ipynb"}, ("a.ipynb",)),
        ("gemini", "read_many_files", {"include": ["src/**", "a.txt", 7]}, ("src/**", "a.txt")),
        ("gemini", "list_directory", {"dir_path": "src"}, ("src",)),
        ("gemini", "read_file", {"absolute_path": "/w/a"}, ("/w/a",)),
        ("opencode", "edit", {"filePath": "a.ts"}, ("a.ts",)),
        ("opencode", "apply_patch", {"patchText": PATCH}, PATCHED),
        ("codex", "apply_patch", {"command": PATCH}, PATCHED),
        ("codex", "apply_patch", {"input": PATCH.replace("\n", "\r\n")}, PATCHED),
        ("codex", "file_change", {"changes": [{"path": "a"}, {"path": "b"}, {"path": "a"}, {}, 7]}, ("a", "b")),
        ("codex", "unheard_of", {"path": "a", "file_path": ""}, ("a",)),
        ("claude", "Grep", {"path": ["a"], "file_path": None}, ()),
        ("claude", "Bash", {"command": "cat a.txt"}, ()),
    ],
)
def test_the_files_of_a_call_are_found_as_the_agent_wrote_them(
    agent: str, name: str, given: dict[str, Any], paths: tuple[str, ...]
) -> None:
    assert classify(agent, name, given)[1] == paths


@pytest.mark.parametrize(
    ("agent", "name", "given", "command"),
    [
        ("claude", "Bash", {"command": "ls -a", "description": "List"}, "ls -a"),
        ("codex", "exec_command", {"cmd": "ls"}, "ls"),
        ("codex", "shell", {"command": ["bash", "-lc", "ls | wc"]}, "ls | wc"),
        ("codex", "shell", {"command": ["git", "commit", "-m", "two words"]}, "git commit -m 'two words'"),
        ("codex", "local_shell", {"action": {"command": ["ls"]}}, "ls"),
        ("codex", "write_stdin", {"session_id": 1, "chars": "yes\n"}, "yes\n"),
        ("gemini", "run_shell_command", {"command": "ls"}, "ls"),
        ("claude", "Bash", {"command": None}, None),
        ("claude", "Edit", {"command": "ls"}, None),
    ],
)
def test_only_a_shell_has_a_command(agent: str, name: str, given: dict[str, Any], command: str | None) -> None:
    assert classify(agent, name, given)[2] == command


@pytest.mark.parametrize("start", ["apply_patch <<'EOF'", 'applypatch << "EOF"'])
def test_a_codex_command_that_only_applies_a_patch_is_an_edit(start: str) -> None:
    command = f"{start}\n{PATCH}\nEOF\n"

    assert classify("codex", "Bash", {"command": command}) == ("edit", PATCHED, command)


@pytest.mark.parametrize(
    ("agent", "command"),
    [
        ("codex", f"apply_patch <<'EOF'\n{PATCH}\nEOF\nrm -rf src"),
        ("codex", f"apply_patch <<'EOF'\n{PATCH}\nEOF\nrm -rf src\n*** End Patch\nEOF"),
        ("codex", f"apply_patch <<EOF\n{PATCH}\n$(rm -rf src)\nEOF"),
        ("codex", f"apply_patch <<EOF\n{PATCH}\n`rm -rf src`\nEOF"),
        ("codex", f"cd $(rm -rf src) && apply_patch <<'EOF'\n{PATCH}\nEOF"),
        ("codex", f"cd src; apply_patch <<'EOF'\n{PATCH}\nEOF"),
        ("codex", f"rm -rf src; apply_patch <<'EOF'\n{PATCH}\nEOF"),
        ("claude", f"apply_patch <<'EOF'\n{PATCH}\nEOF"),
    ],
)
def test_a_command_that_does_more_than_apply_a_patch_is_of_a_shell(agent: str, command: str) -> None:
    assert classify(agent, "Bash", {"command": command}) == ("shell", PATCHED, command)


@given(
    agent=st.sampled_from(["claude", "codex", "gemini", "opencode"]),
    name=st.sampled_from(["Bash", "shell", "run_shell_command", "bash", "apply_patch", "x"]),
    tool_input=st.dictionaries(
        st.sampled_from(["command", "cmd", "action", "path", "paths", "changes", "include", "input"]),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["command", "path"]), inner),
            max_leaves=5,
        ),
    ),
)
def test_an_input_of_any_shape_is_classified(agent: str, name: str, tool_input: dict[str, Any]) -> None:
    tool, paths, command = classify(agent, name, tool_input)

    assert all(isinstance(path, str) for path in paths)
    assert command is None or tool in ("shell", "edit")
