"""What cards change, as unified patches or as a list of files."""

import os
import sys
from collections.abc import Iterator, Sequence

from pitstop.errors import CommandRefused
from pitstop.service.cards import Diff, Patch
from pitstop.service.repos import ChangedFile
from pitstop.service.runs import printable

_BOLD, _RED, _GREEN, _CYAN, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[0m"
SHOWN_PATHS = 10


def has_colors() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def files_at(diff: Diff, path: str | None, card: str) -> Sequence[ChangedFile]:
    """The files of a diff that are at a path or in the folder there; CommandRefused if there are none."""
    if path is None:
        return diff.files
    wanted = path.removeprefix("./").rstrip("/")
    found = [
        file
        for file in diff.files
        if any(name == wanted or name.startswith(f"{wanted}/") for name in (file.path, file.old_path or file.path))
    ]
    if not found:
        others = ", ".join(file.path for file in diff.files[:SHOWN_PATHS]) or "no files"
        more = f" and {len(diff.files) - SHOWN_PATHS} more" if len(diff.files) > SHOWN_PATHS else ""
        raise CommandRefused(f"card {card} does not change {path!r} there, but {others}{more}")
    return found


def stat_lines(files: Sequence[ChangedFile]) -> Iterator[str]:
    """A line for each file, with the lines that were added and removed, and one for all of them."""
    names = [f"{file.old_path} -> {file.path}" if file.old_path else file.path for file in files]
    width = max(map(len, names), default=0)
    for file, name in zip(files, names, strict=True):
        count = "binary" if file.added is None else f"+{file.added} -{file.removed or 0}"
        yield f"{file.status:12}  {name:{width}}  {count}"
    if files:
        added, removed = (sum(getattr(file, side) or 0 for file in files) for side in ("added", "removed"))
        yield f"{len(files)} file{'s' * (len(files) != 1)}, +{added} -{removed}"


def patch_text(patch: Patch, *, colored: bool) -> str:
    """A patch as git prints it, or for a terminal: with colors, and without escape sequences of its own."""
    text = patch.text if patch.text.endswith("\n") or not patch.text else f"{patch.text}\n"
    if not colored:
        return text
    is_head, lines = True, []
    for line in printable(text).split("\n")[:-1]:
        is_head = (is_head and not line.startswith("@@")) or line.startswith("diff --git ")
        color = _BOLD if is_head else {"+": _GREEN, "-": _RED, "@": _CYAN}.get(line[:1])
        lines.append(f"{color}{line}{_PLAIN}\n" if color else f"{line}\n")
    return "".join(lines)
