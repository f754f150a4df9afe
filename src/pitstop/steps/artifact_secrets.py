"""Artifacts that contain a secret: they are not stored, and the step that wrote one says so."""

from collections.abc import AsyncIterator
from functools import partial

from pitstop.engine.threads import in_thread
from pitstop.engine.workspace_files import FoundFile, NewScan, WorkspaceFiles
from pitstop.errors import FileProblem

NAMED = 3


class ArtifactScan:
    """Finds the artifacts of one workspace that contain a secret. A file is read again when it has changed."""

    def __init__(self, new_scan: NewScan) -> None:
        self.new_scan = new_scan
        self._known: dict[FoundFile, str | None] = {}

    async def refused(self, files: WorkspaceFiles) -> dict[str, str]:
        """The name of a secret for each path that has one in its content or name."""
        if not self._known or not await self._is_known(files):  # most often there is nothing, which is seen at once
            self._known = {file: name async for file, name in self._read(files)}
        return {file.path: name for file, name in self._known.items() if name is not None}

    async def _is_known(self, files: WorkspaceFiles) -> bool:
        try:
            (here,) = await files.find("artifacts", ["*"])
        except FileProblem:  # a link leads out of the folder: what can be read is looked at each time
            return False
        return set(here) == self._known.keys()

    async def _read(self, files: WorkspaceFiles) -> AsyncIterator[tuple[FoundFile, str | None]]:
        last, scan = None, self.new_scan()
        async for file, data in files.stream("artifacts"):
            if file.path != last:
                last, scan = file.path, self.new_scan()
                scan.feed(file.path.encode(errors="surrogateescape") + b"\n")
            if file in self._known:
                yield file, self._known[file]
                continue
            await in_thread(partial(scan.feed, data))
            yield file, scan.found


async def without_files(
    chunks: AsyncIterator[tuple[FoundFile, bytes]], refused: dict[str, str]
) -> AsyncIterator[tuple[FoundFile, bytes]]:
    async for file, data in chunks:
        if file.path not in refused:
            yield file, data


def refusal(path: str, secret: str) -> str:
    return f"artifact {path} contains the secret {secret}: it is not stored"


def in_words(refused: dict[str, str]) -> str:
    """The first few of the artifacts that are refused, and how many more there are."""
    told = [refusal(path, secret) for path, secret in list(refused.items())[:NAMED]]
    return "; ".join(told) + (f"; and {len(refused) - NAMED} more" if len(refused) > NAMED else "")
