"""Processes of git. They are started by `vfork`: uvloop would copy the page tables of the whole server each time."""

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress

from pitstop.errors import GitProblem

CHUNK_BYTES = 256 * 1024

# What writing to a process raises that reads no more; the last is what uvloop raises once it has noticed
PIPE_CLOSED = (BrokenPipeError, ConnectionResetError, RuntimeError)


class GitProcess:
    """Git in a process group of its own, with its pipes as streams. It must be ended, also when it has ended itself."""

    stdin: asyncio.StreamWriter

    def __init__(self, popen: subprocess.Popen[bytes], pipes: Sequence[socket.socket]) -> None:
        loop = asyncio.get_running_loop()
        self._popen = popen
        self._pidfd = os.pidfd_open(popen.pid)
        self._code: asyncio.Future[int] = loop.create_future()
        self._readers: list[asyncio.ReadTransport] = []
        self.stdout = asyncio.StreamReader(CHUNK_BYTES)
        self.stderr = asyncio.StreamReader(CHUNK_BYTES)
        self._connecting = loop.create_task(self._connect(*pipes), name="start git")
        loop.add_reader(self._pidfd, self._reap)

    async def wait_connected(self) -> None:
        """Until then it has no streams."""
        await asyncio.shield(self._connecting)

    async def wait(self) -> int:
        """Its exit code, when it has ended; what it has printed can still be read then."""
        return await asyncio.shield(self._code)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it and to all that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._popen.pid, number)

    async def end(self) -> None:
        """Kill git with all that it started, unless it has ended, wait for it, and close its pipes.

        If this is cancelled meanwhile, the cancellation is raised afterwards.
        """
        if not self._code.done():
            self.signal(signal.SIGKILL)
        cancelled: asyncio.CancelledError | None = None
        while not (self._code.done() and self._connecting.done()):
            try:
                await asyncio.wait((self._code, self._connecting))
            except asyncio.CancelledError as error:
                cancelled = error
        if not self.stdin.is_closing():
            self.stdin.transport.abort()
        for transport in self._readers:
            transport.close()
        if cancelled is not None:
            raise cancelled

    async def _connect(self, stdin: socket.socket, stdout: socket.socket, stderr: socket.socket | None = None) -> None:
        self.stdin = await _open_writer(stdin)
        await self._open_reader(self.stdout, stdout)
        if stderr is None:
            self.stderr.feed_eof()
        else:
            await self._open_reader(self.stderr, stderr)

    async def _open_reader(self, reader: asyncio.StreamReader, pipe: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        self._readers.append(transport)

    def _reap(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._code.set_result(self._popen.wait())


async def start_git(
    *words: str,
    environment: Mapping[str, str],
    has_complaints: bool = True,
    pass_fds: tuple[int, ...] = (),
) -> GitProcess:
    """Start git in a process group of its own. Raises `GitProblem` when it cannot be run."""
    try:
        process = _spawn(words, environment, has_complaints, pass_fds)
    except OSError as error:
        raise GitProblem.of_start(command_in(words), error) from error
    try:
        await process.wait_connected()
    except BaseException:
        await process.end()
        raise
    return process


def command_in(words: tuple[str, ...]) -> str:
    """The command among the words of git, which options stand before."""
    values = [word for before, word in zip(("", *words), words, strict=False) if before not in ("-c", "-C")]
    return next(word for word in values if not word.startswith("-"))


async def discard(output: asyncio.StreamReader) -> None:
    """Read to the end, for nothing."""
    while await output.read(CHUNK_BYTES):
        pass


async def _open_writer(pipe: socket.socket) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()  # the protocol needs one, although nothing is read here
    transport, protocol = await loop.connect_write_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return asyncio.StreamWriter(transport, protocol, None, loop)


def _spawn(
    words: tuple[str, ...], environment: Mapping[str, str], has_complaints: bool, pass_fds: tuple[int, ...]
) -> GitProcess:
    """Its pipes are sockets: uvloop closes others twice, and so perhaps what a thread has opened in between."""
    ours, theirs = [], []
    with ExitStack() as undoing, ExitStack() as inherited:
        for _ in range(3 if has_complaints else 2):
            here, there = socket.socketpair()
            ours.append(undoing.enter_context(here))
            theirs.append(inherited.enter_context(there).fileno())
        popen = subprocess.Popen(
            ("git", *words),
            stdin=theirs[0],
            stdout=theirs[1],
            stderr=theirs[2] if has_complaints else subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
            pass_fds=pass_fds,
        )
        undoing.enter_context(popen)
        undoing.callback(os.killpg, popen.pid, signal.SIGKILL)
        process = GitProcess(popen, ours)
        undoing.pop_all()
    return process
