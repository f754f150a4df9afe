"""What a script hands on through the file $PITSTOP_OUTPUT."""

import re
from typing import Any

import msgspec

from pitstop.engine.workspace_files import WorkspaceFiles
from pitstop.errors import FileMissing, FileProblem, FileTooLarge, NotAFile
from pitstop.steps.failures import BadOutput

MOST_BYTES = 1024 * 1024
RESERVED = frozenset({"exit_code", "tests", "artifacts"})

_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_ENTRY = r"(?s)(?P<name>[^=<]*?)\s*(?:(?P<block><<)|=)(?P<rest>.*)"
_SHOWN_CHARACTERS = 80


async def read_outputs(files: WorkspaceFiles, name: str) -> dict[str, Any]:
    """The outputs in a control file; BadOutput. No file, or nothing in it, is no outputs."""
    try:
        data = await files.read("control", name, limit=MOST_BYTES)
    except FileMissing:
        return {}
    except NotAFile as error:
        raise BadOutput("it is no longer a regular file: write into the file, and do not replace it") from error
    except FileTooLarge as error:
        raise BadOutput(f"{error.reason}: use an artifact instead") from error
    except FileProblem as error:
        raise BadOutput(f"cannot read it: {error.reason}") from error
    try:
        return parse_outputs(data.decode())
    except UnicodeDecodeError as error:
        raise BadOutput(f"byte {error.start} is not UTF-8") from error


def parse_outputs(text: str) -> dict[str, Any]:
    """`key=value` lines, `key<<END` blocks, or one JSON object; BadOutput. Of two values for a key the last counts."""
    outputs = _parse_json(text) if text.lstrip().startswith("{") else _parse_lines(text.split("\n"))
    for name in outputs:
        if name in RESERVED:
            raise BadOutput(f"the name {name!r} is reserved by Pitstop: choose another")
    return outputs


def _parse_json(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadOutput(f"invalid JSON object: {error}") from error


def _parse_lines(lines: list[str]) -> dict[str, Any]:
    outputs: dict[str, Any] = {}
    at = 0
    while at < len(lines):
        line = lines[at].rstrip("\r")
        at += 1
        if not line.strip():
            continue
        entry = re.fullmatch(_ENTRY, line)
        if entry is None or not re.fullmatch(_NAME, entry["name"].lstrip()):
            raise BadOutput(f"line {at} is {_shown(line)}, but key=value or key<<END is expected")
        name, rest = entry["name"].lstrip(), entry["rest"]
        if entry["block"]:
            end = _end_of_block(lines, at, rest)
            rest = "\n".join(line.rstrip("\r") for line in lines[at:end])
            at = end + 1
        outputs[name] = rest
    return outputs


def _end_of_block(lines: list[str], begin: int, mark: str) -> int:
    for number in range(begin, len(lines)):
        if lines[number].rstrip("\r") == mark and mark:
            return number
    raise BadOutput(f"the block that starts at line {begin} has no closing line {_shown(mark)}")


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…")
