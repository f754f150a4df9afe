"""Where the branches and tags of a repository are."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from pitstop.git.commands import run_git

MOST_SUBJECT_CHARACTERS = 200
TIMEOUT_SECONDS = 120.0

_OF_COMMIT = ("objecttype", "objectname", "subject", "authorname", "committerdate:unix")
_FORMAT = "".join(f"%({field})%00" for field in ("refname", *_OF_COMMIT, *(f"*{field}" for field in _OF_COMMIT)))
_FIELDS = 1 + 2 * len(_OF_COMMIT)


class RefValue(Struct, frozen=True):
    """The commit that a ref leads to; `at` is when it was committed, in seconds since the epoch.

    `object` is what the ref itself names: the commit, or an annotated tag of it.
    """

    sha: str
    subject: str
    author: str
    at: int
    object: str = ""


async def read_refs(folder: Path) -> dict[str, RefValue]:
    """Branches and tags by their full names; a tag of something that is not a commit is omitted."""
    printed = await run_git(
        folder, "for-each-ref", f"--format={_FORMAT}", "refs/heads", "refs/tags", timeout_seconds=TIMEOUT_SECONDS
    )
    values: dict[str, RefValue | None] = {}
    objects: dict[str, str] = {}
    nested: list[str] = []
    for name, itself, tagged in _rows_of(printed):
        objects[name] = itself[1]
        values[name] = _value_of(itself) or _value_of(tagged)
        if tagged[0] == "tag":  # git peels only one layer
            nested.append(name)
    values |= await _peel(folder, nested)
    return {name: replace(value, object=objects[name]) for name, value in values.items() if value is not None}


def _rows_of(printed: bytes) -> Iterator[tuple[str, list[str], list[str]]]:
    """The name of each ref, the fields of its object, and those of the object that this one tags."""
    fields = printed.decode(errors="replace").split("\0")
    for start in range(0, len(fields) - _FIELDS, _FIELDS):
        name, *rest = fields[start : start + _FIELDS]
        yield name.removeprefix("\n"), rest[: len(_OF_COMMIT)], rest[len(_OF_COMMIT) :]


def _value_of(fields: list[str]) -> RefValue | None:
    kind, sha, subject, author, at = fields
    if kind != "commit":
        return None
    return RefValue(sha, subject[:MOST_SUBJECT_CHARACTERS], author, int(at) if at.isdigit() else 0)


async def _peel(folder: Path, names: list[str]) -> dict[str, RefValue]:
    """The commits behind tags of tags."""
    if not names:
        return {}
    questions = "".join(f"{name}^{{}}\n" for name in names).encode()
    answers = (await run_git(folder, "cat-file", "--batch-check", input=questions)).decode().splitlines()
    shas = {name: line.split(" ")[0] for name, line in zip(names, answers, strict=True) if " commit " in line}
    if not shas:
        return {}
    words = ("log", "--no-walk=unsorted", "--stdin", "-z", "--format=%H%x00%s%x00%an%x00%ct")
    printed = await run_git(folder, *words, input="\n".join(dict.fromkeys(shas.values())).encode())
    fields = printed.decode(errors="replace").split("\0")
    commits = {fields[start]: fields[start : start + 4] for start in range(0, len(fields) - 3, 4)}
    values = {name: _value_of(["commit", *commits[sha]]) for name, sha in shas.items()}
    return {name: value for name, value in values.items() if value is not None}
