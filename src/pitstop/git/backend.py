"""Git's smart HTTP, served by the real `git http-backend`: the body flows in while the answer flows out."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from signal import SIGKILL, SIGTERM

from pitstop.errors import GitProblem, ServerBusy
from pitstop.git.bare import BareRepository
from pitstop.git.commands import read_complaint
from pitstop.git.leftovers import lock_for_push
from pitstop.git.lifeline import Lifeline
from pitstop.git.processes import CHUNK_BYTES, PIPE_CLOSED, GitProcess, discard, start_git
from pitstop.git.smart_http import (
    RECEIVE_PACK,
    GitAnswer,
    GitRequest,
    backend_environment,
    parse_head,
    refusal_of,
    service_of,
)

MOST_AT_ONCE = 8
MOST_PUSH_BYTES = 2 * 1024**3
MOST_DISCARDED_BYTES = 8 * 1024**3  # a client that sends too much reads why only when it has sent all
IDLE_SECONDS = 300.0
FINISH_SECONDS = 60.0  # for a push whose client has gone
TERMINATE_SECONDS = 2.0


class GitBackend:
    """Answers git clients, a few at a time."""

    def __init__(
        self,
        *,
        most_at_once: int = MOST_AT_ONCE,
        most_push_bytes: int = MOST_PUSH_BYTES,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._most_at_once = most_at_once
        self._most_push_bytes = most_push_bytes
        self._idle_seconds = idle_seconds
        self._exchanges: set[_Exchange] = set()

    @asynccontextmanager
    async def answer(
        self, repository: BareRepository, request: GitRequest, body: AsyncIterator[bytes]
    ) -> AsyncGenerator[GitAnswer]:
        """The answer to a request; raises `Unknown` for another address, `ServerBusy`, and `GitProblem`.

        Leaving ends git, except that a push whose body has arrived is completed first.
        """
        service = service_of(request.method, request.path, request.query)
        if refusal := refusal_of(request, service):
            yield GitAnswer(refusal.status, refusal.headers, _once(refusal.text.encode()))
            return
        running = sum(not each.is_over for each in self._exchanges)
        if running >= self._most_at_once:
            raise ServerBusy(f"the server is busy with {running} git requests: try again in a few seconds")
        environment = backend_environment(repository.folder, request, service, most_push_bytes=self._most_push_bytes)
        is_push = service == RECEIVE_PACK and request.method == "POST"
        exchange = _Exchange(repository, request, is_push, self._idle_seconds)
        self._exchanges.add(exchange)
        try:
            async with exchange.running(environment, body) as answer:
                yield answer
        finally:
            self._exchanges.discard(exchange)


class _Exchange:
    """One request and its answer."""

    def __init__(self, repository: BareRepository, request: GitRequest, is_push: bool, idle_seconds: float) -> None:
        self._repository = repository
        self._request = request
        self._is_push = is_push
        self._idle_seconds = idle_seconds
        self.is_over = False  # git has ended, and its answer was read to the end
        self._limit = asyncio.timeout(idle_seconds)

    @asynccontextmanager
    async def running(self, environment: dict[str, str], body: AsyncIterator[bytes]) -> AsyncGenerator[GitAnswer]:
        lifeline = Lifeline()
        try:
            with self._locked() as locks:
                process = await start_git(
                    "http-backend",
                    environment=environment,
                    pass_fds=(lifeline.write_end, *locks),
                )
            lifeline.watch()
            async with self._limit, self._talking(process, lifeline, body) as answer:
                yield answer
        except BaseExceptionGroup as group:  # the caller knows of no group
            raise group.exceptions[0] from None
        except TimeoutError as error:
            if not self._limit.expired():
                raise
            raise GitProblem("http-backend", f"the client was idle for {self._idle_seconds:g} s") from error
        finally:
            lifeline.close()

    @contextmanager
    def _locked(self) -> Iterator[tuple[int, ...]]:
        """The lock of a push, to be passed to git."""
        if not self._is_push:
            yield ()
            return
        try:
            lock = lock_for_push(self._repository.folder)
        except OSError as error:
            raise GitProblem("receive-pack", f"cannot lock {self._repository.name}: {error.strerror}") from error
        try:
            yield (lock,)
        finally:
            os.close(lock)

    @asynccontextmanager
    async def _talking(
        self, process: GitProcess, lifeline: Lifeline, body: AsyncIterator[bytes]
    ) -> AsyncGenerator[GitAnswer]:
        async with asyncio.TaskGroup() as group:
            complaint = group.create_task(read_complaint(process.stderr), name="git stderr")
            pumping = group.create_task(self._pump(body, process.stdin), name="git stdin")
            try:
                status, headers = await self._head(process.stdout, complaint)
                async with aclosing(self._pieces(process.stdout, pumping, lifeline)) as pieces:
                    yield GitAnswer(status, headers, pieces)
            finally:
                pumping.cancel()
                await self._end(process, lifeline)

    async def _pump(self, body: AsyncIterator[bytes], stdin: asyncio.StreamWriter) -> None:
        """Pass the body to git, and discard what git does not take."""
        if self._request.method != "POST":  # it has no body
            stdin.close()
            return
        received = discarded = 0
        async for piece in body:
            self._note_progress()
            received += len(piece)
            if discarded or not await _write(stdin, piece):
                discarded += len(piece)
            if discarded > MOST_DISCARDED_BYTES:
                raise GitProblem("http-backend", "the client kept sending after git had refused its request")
            self._note_progress()
        if self._request.content_length not in (None, received):
            reason = f"the request ended after {received:,} of {self._request.content_length:,} bytes"
            raise GitProblem("http-backend", reason)
        stdin.close()

    async def _head(
        self, stdout: asyncio.StreamReader, complaint: asyncio.Task[str]
    ) -> tuple[int, list[tuple[str, str]]]:
        try:
            head = await stdout.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise GitProblem("http-backend", await complaint or "it ended without an answer") from error
        return parse_head(head)

    async def _pieces(
        self, stdout: asyncio.StreamReader, pumping: asyncio.Task[None], lifeline: Lifeline
    ) -> AsyncGenerator[bytes]:
        while piece := await stdout.read(CHUNK_BYTES):
            self._note_progress()
            yield piece
            self._note_progress()
        await asyncio.wait([pumping])
        await lifeline.ended.wait()
        self.is_over = True  # before the client sees the end of the answer, and sends its next request

    def _note_progress(self) -> None:
        if not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time() + self._idle_seconds)

    async def _end(self, process: GitProcess, lifeline: Lifeline) -> None:
        if not self._limit.expired():
            self._limit.reschedule(None)
        try:
            if self._is_push and not self.is_over:
                await _finish(process, lifeline)
        finally:
            await _stop(process, lifeline)


async def _write(stdin: asyncio.StreamWriter, piece: bytes) -> bool:
    """Whether git takes it; it may have read all that it wants."""
    try:
        stdin.write(piece)
        await stdin.drain()
    except PIPE_CLOSED:
        return False
    return True


async def _finish(process: GitProcess, lifeline: Lifeline) -> None:
    """Let git end by itself: it completes a whole push, and cleans up after half of one, which a signal prevents."""
    process.stdin.close()
    with suppress(TimeoutError):
        async with asyncio.timeout(FINISH_SECONDS):
            await discard(process.stdout)
            await lifeline.ended.wait()


async def _stop(process: GitProcess, lifeline: Lifeline) -> None:
    """End whatever is left of git."""
    try:
        if not lifeline.ended.is_set():
            process.signal(SIGTERM)
            with suppress(TimeoutError):
                async with asyncio.timeout(TERMINATE_SECONDS):
                    await lifeline.ended.wait()
    finally:
        if not lifeline.ended.is_set():
            process.signal(SIGKILL)
        await process.end()


async def _once(piece: bytes) -> AsyncGenerator[bytes]:
    yield piece
