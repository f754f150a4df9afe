"""The tool calls of a scripted agent, which really act."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import threading
from pathlib import Path

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

writing = threading.Lock()
numbers = itertools.count(1)
children: set[subprocess.Popen[str]] = set()


def write(data: bytes) -> None:
    """Write all of it, as one piece among those of other threads."""
    with writing:
        while data:
            data = data[os.write(1, data) :]


def write_line(value: Any) -> None:
    write(json.dumps(value, ensure_ascii=False).encode(errors="surrogateescape") + b"\n")


class Call:
    """A tool call, with its name and input in the words of the CLI that is played."""

    def __init__(self, step: Json, call: str, name: str, given: Json, parent: str | None) -> None:
        self.call = call
        self.name = name
        self.input = given
        self.parent = parent
        self.is_gated = not step.get("ungated", False)
        self.output: str | None = step.get("output")  # a tool that only answers
        self.is_failing = step.get("fails", False)


class Verdict:
    """What a gate decided: run with this input, or a refusal, which is what the model is told."""

    def __init__(self, given: Json, refusal: str | None = None) -> None:
        self.input = given
        self.refusal = refusal


class Result:
    """How a call ended: what the stream shows, and what the model is told."""

    def __init__(self, output: str, ok: bool, exit_code: int = 0) -> None:
        self.output = output
        self.ok = ok
        self.exit_code = exit_code


def act(call: Call) -> Result:
    """Do what the call says, by its input: a patch, a command, a text to write, or a file to read."""
    given = call.input
    if call.output is not None:
        return Result(call.output, not call.is_failing)
    if call.name == "apply_patch":
        return _act_patch(str(given["command"]))
    if "command" in given:
        return _run_shell(str(given["command"]))
    path = str(given.get("file_path") or given.get("filePath") or "")
    try:
        if "content" in given:
            write_file(path, str(given["content"]))
            return Result(f"wrote {path}", True)
        return Result(Path(path).read_text(errors="replace"), True)
    except OSError as error:
        return Result(str(error), False, 1)


def _run_shell(command: str) -> Result:
    with subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as child:
        children.add(child)
        output, _ = child.communicate()
    children.discard(child)
    return Result(output, child.returncode == 0, child.returncode)


def write_file(path: str, content: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(content)


def patch_of(path: str, content: str) -> str:
    lines = "".join(f"+{line}\n" for line in content.splitlines())
    return f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"


def path_in(patch: str) -> str:
    found = re.search(r"^\*\*\* (?:Add|Update) File: (.+)$", patch, re.MULTILINE)
    return found.group(1) if found else ""


def _act_patch(patch: str) -> Result:
    content = "".join(f"{line[1:]}\n" for line in patch.splitlines() if line.startswith("+"))
    try:
        write_file(path_in(patch), content)
    except OSError as error:
        return Result(str(error), False, 1)
    return Result(f"Success. Updated the following files:\nA {path_in(patch)}\n", True)
