"""What became of the files of a run between two of its points."""

import asyncio
import difflib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing

from pitstop.debugger.time_travel import files_at, point_numbered, points_in
from pitstop.errors import NoFiles, UnknownSnapshot
from pitstop.events.types import AnyEvent
from pitstop.runs.file_changes import FileChangeInfo, FileChanges, FileDiff
from pitstop.runs.run_snapshots import NewSnapshots
from pitstop.runs.telling import MaskText

COMPARED_BYTES = 256 * 1024
COMPARED_LINES = 5000  # finding the differences takes time that grows faster than they do

KeepNow = Callable[[], Awaitable[str | None]]


class RunFiles:
    """The snapshots of a run, compared. `keep_now` takes one of the files as they are, if they are there."""

    def __init__(self, new_snapshots: NewSnapshots, keep_now: KeepNow, mask: MaskText) -> None:
        self._new_snapshots = new_snapshots
        self._keep_now = keep_now
        self._mask = mask

    async def changes(
        self, events: Sequence[AnyEvent], before: int, after: int | None, *, limit: int = 1000
    ) -> FileChanges:
        old, new = await self._snapshots(events, before, after)
        found = await self._compare(old, new)
        return FileChanges(tuple(found[:limit]), len(found))

    async def diff(self, events: Sequence[AnyEvent], path: str, before: int, after: int | None) -> FileDiff:
        old, new = await self._snapshots(events, before, after)
        with_changes = {each.path: each for each in await self._compare(old, new)}
        change = with_changes.get(self._mask(path))
        if change is None:
            texts = await self._texts(path, new, new)  # UnknownSnapshot, if there is no such file at all
            return FileDiff(path=self._mask(path), kind="", is_text=_is_text(texts[0]))
        if not change.is_text or change.kind == "mode":
            return FileDiff(path=change.path, kind=change.kind, is_text=change.is_text)
        texts = await self._texts(path, old, new)
        diff, is_cut = await asyncio.to_thread(_unified, change.path, *texts)
        return FileDiff(path=change.path, kind=change.kind, is_text=True, diff=self._mask(diff), is_cut=is_cut)

    async def now(self) -> str | None:
        """A snapshot of the files as they are; None where none are stored."""
        return await self._keep_now()

    async def changed_since(self, snapshot: str | None) -> list[str] | None:
        """The paths that are not as they were in a snapshot; None where that is not known."""
        now = None if snapshot is None else await self._keep_now()
        if snapshot is None or now is None:
            return None
        return [change.path for change in await self._compare(snapshot, now)]

    async def _snapshots(self, events: Sequence[AnyEvent], before: int, after: int | None) -> tuple[str, str]:
        return _snapshot_at(events, before), await self._now() if after is None else _snapshot_at(events, after)

    async def _now(self) -> str:
        taken = await self._keep_now()
        if taken is None:
            raise NoFiles("this moment")
        return taken

    async def _compare(self, old: str, new: str) -> list[FileChangeInfo]:
        with closing(self._new_snapshots()) as keeping:
            found = await keeping.diff(old, new)
        return [FileChangeInfo(self._mask(each.path), each.kind, each.is_text) for each in found]

    async def _texts(self, path: str, old: str, new: str) -> tuple[bytes, bytes]:
        """What is in the file in both; nothing where it is not there. UnknownSnapshot when it is in neither."""
        found: list[bytes] = []
        missing = 0
        with closing(self._new_snapshots()) as keeping:
            for snapshot in (old, new):
                try:
                    found.append(await keeping.file(snapshot, path, size=COMPARED_BYTES + 1))
                except UnknownSnapshot:
                    missing += 1
                    found.append(b"")
        if missing == len(found):
            raise UnknownSnapshot(new, path)
        return found[0], found[1]


def _snapshot_at(events: Sequence[AnyEvent], number: int) -> str:
    found = files_at(events, point_numbered(points_in(events), number))
    if found is None:
        raise NoFiles(f"point {number}")
    return found


def _unified(path: str, old: bytes, new: bytes) -> tuple[str, bool]:
    """The differences as `diff -u` shows them, and whether there was more than could be compared."""
    sides = [side[:COMPARED_BYTES].decode(errors="replace").splitlines(keepends=True) for side in (old, new)]
    is_cut = len(old) > COMPARED_BYTES or len(new) > COMPARED_BYTES or any(len(s) > COMPARED_LINES for s in sides)
    before, after = (side[:COMPARED_LINES] for side in sides)
    lines = difflib.unified_diff(before, after, f"a/{path}", f"b/{path}")
    told = (line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return "".join(told), is_cut


def _is_text(beginning: bytes) -> bool:
    return b"\0" not in beginning
