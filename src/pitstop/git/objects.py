"""Stored objects, read through one `git cat-file` that stays open."""

import asyncio
from pathlib import Path

from msgspec import Struct

from pitstop.errors import GitProblem
from pitstop.git.commands import git_environment
from pitstop.git.processes import CHUNK_BYTES, PIPE_CLOSED, GitProcess, start_git

TIMEOUT_SECONDS = 60.0
MOST_DISCARDED_BYTES = 8 * 1024 * 1024  # reading on is cheaper than a new process up to here


class StoredObject(Struct, frozen=True):
    """An object; `content` is its beginning, up to the limit of the question."""

    sha: str
    kind: str
    size: int
    content: bytes = b""


class ObjectReader:
    """Answers one question at a time. The process is started by the first question, and again if it has died."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: GitProcess | None = None
        self._asking = asyncio.Lock()
        self._used_at = 0.0

    async def info(self, name: str) -> StoredObject | None:
        """An object without its content; None if there is none. A name must not contain a line break."""
        return await self._ask(f"info {name}", None)

    async def content(self, name: str, limit_bytes: int) -> StoredObject | None:
        """An object with the beginning of its content; None if there is none."""
        return await self._ask(f"contents {name}", limit_bytes)

    async def close(self) -> None:
        """End the process; the next question starts another."""
        async with self._asking:
            await self._kill()

    async def close_if_idle(self, now: float, idle_seconds: float) -> None:
        """End the process if nothing was asked for so long; `now` is a time of the event loop."""
        if not self._asking.locked() and now - self._used_at >= idle_seconds:
            await self.close()

    async def _ask(self, question: str, limit_bytes: int | None) -> StoredObject | None:
        async with self._asking:
            self._used_at = asyncio.get_running_loop().time()
            was_running = self._process is not None
            try:
                return await self._ask_once(question, limit_bytes)
            except (asyncio.IncompleteReadError, *PIPE_CLOSED) as error:
                if not was_running:
                    raise GitProblem("cat-file", f"it ended without an answer in {self._folder}") from error
            try:
                return await self._ask_once(question, limit_bytes)
            except (asyncio.IncompleteReadError, *PIPE_CLOSED) as error:
                raise GitProblem("cat-file", f"it ended without an answer in {self._folder}") from error

    async def _ask_once(self, question: str, limit_bytes: int | None) -> StoredObject | None:
        """Ask once. A process whose answer was not read to its end is killed: the rest would be its next answer."""
        is_answered = False
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                answer, is_answered = await self._exchange(question, limit_bytes)
            return answer
        except TimeoutError as error:
            raise GitProblem("cat-file", f"it timed out after {TIMEOUT_SECONDS:g} s in {self._folder}") from error
        finally:
            if not is_answered:
                await self._kill()

    async def _exchange(self, question: str, limit_bytes: int | None) -> tuple[StoredObject | None, bool]:
        """The answer, and whether all of it was read."""
        process = await self._started()
        process.stdin.write(f"{question}\n".encode())
        await process.stdin.drain()
        words = (await process.stdout.readuntil(b"\n")).decode(errors="replace").rstrip("\n").split(" ")
        if len(words) != 3 or not words[2].isdigit():  # the question again, and what is wrong with it
            return None, True
        found = StoredObject(words[0], words[1], int(words[2]))
        if limit_bytes is None:
            return found, True
        content = await process.stdout.readexactly(min(found.size, limit_bytes))
        is_whole = await _discard(process.stdout, found.size - len(content) + 1)
        return StoredObject(found.sha, found.kind, found.size, content), is_whole

    async def _started(self) -> GitProcess:
        if self._process is None:
            self._process = await start_git(
                f"--git-dir={self._folder}",
                *("cat-file", "--batch-command"),
                environment=git_environment(),
                has_complaints=False,
            )
        return self._process

    async def _kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.end()


async def _discard(stream: asyncio.StreamReader, size: int) -> bool:
    """Read so many bytes, unless they are too many: whether that was done."""
    if size > MOST_DISCARDED_BYTES:
        return False
    while size > 0:
        piece = await stream.readexactly(min(size, CHUNK_BYTES))
        size -= len(piece)
    return True
