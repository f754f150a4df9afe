"""jq in a process of its own, where it can be stopped, can run out of memory and can see nothing of ours."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import msgspec

from pitstop.errors import BadExpression, ExpressionTimeout
from pitstop.executors import jq_worker_main
from pitstop.executors.jq_worker_main import ERROR, REPLY, REQUEST
from pitstop.plan.jq_text import top_keys
from pitstop.plan.paths import plain_path
from pitstop.plan.values import as_json, look_up

_MIB = 2**20
_START_TIMEOUT_SECONDS = 30.0
_WAIT_SECONDS = 60.0  # for a worker that is given no time to work by a busy machine
_LEAST_SECONDS = 0.001
_MOST_DEPTH = 200  # msgspec cannot go much deeper; jq finds "<deeper>" there


class JqWorker:
    """An Evaluator: jq in a worker process, which is started when it is first needed and again after it ended.

    Expressions are evaluated one after the other. Each has its own time to work, which is the worker's and not that of
    the clock; one that uses it up, is cancelled or needs too much memory takes the worker with it, and the next gets
    a new one. A worker that is killed from outside is replaced, and the evaluation starts again.

    One event loop at a time may use it; it, and its process, outlive the loop.

    Numbers keep all their digits on the way through jq, but jq's arithmetic is that of 64-bit floats.
    """

    def __init__(
        self,
        *,
        max_memory_bytes: int = 512 * _MIB,
        max_values: int = 10_000,
        max_output_bytes: int = 64 * _MIB,
    ) -> None:
        self._max_memory_bytes = max_memory_bytes
        self._max_values = max_values
        self._max_output_bytes = max_output_bytes
        self._process: _Process | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = asyncio.Lock()
        self._closed = False

    async def evaluate(
        self, expression: str, values: Mapping[str, object], *, timeout_seconds: float = 1.0
    ) -> list[object]:
        """Every value the expression gives for `values`; BadExpression, ExpressionTimeout.

        Plain paths are answered here. Of other expressions jq gets only the top-level keys that they name.
        """
        parts = plain_path(expression)
        if parts is not None:
            return [look_up(values, parts)]
        async with self._next_turn():
            kind, payload = await self._reply(expression, values, timeout_seconds)
        if kind == ERROR:
            raise BadExpression(expression, payload.decode())
        try:
            return msgspec.json.decode(payload, type=list[object])
        except (msgspec.MsgspecError, RecursionError) as error:
            raise BadExpression(expression, f"returned a value that cannot be read: {error}") from error

    async def close(self) -> None:
        """End the worker process. Evaluations in progress fail; it cannot be used again."""
        self._closed = True
        if self._process:
            self._process.kill()
        async with self._next_turn():
            await self._end_process()

    def _next_turn(self) -> asyncio.Lock:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # a lock that was waited for belongs to its loop for good
            self._loop, self._turn = loop, asyncio.Lock()
        return self._turn

    async def _reply(
        self, expression: str, values: Mapping[str, object], timeout_seconds: float
    ) -> tuple[bytes, bytearray]:
        while True:
            process = await self._ready_process(expression)
            request = _request(expression, values, timeout_seconds)
            try:
                async with asyncio.timeout(timeout_seconds + _WAIT_SECONDS):
                    return await process.ask(request)
            except TimeoutError as error:
                process.kill()
                raise ExpressionTimeout(expression, timeout_seconds) from error
            except (OSError, EOFError) as error:
                code = await process.end()
                if self._closed:
                    raise BadExpression(expression, "the evaluator was closed") from error
                if code == -signal.SIGPROF:
                    raise ExpressionTimeout(expression, timeout_seconds) from error
                if code == -signal.SIGABRT:
                    needed = f"needed more memory than {self._max_memory_bytes // _MIB} MB"
                    raise BadExpression(expression, needed) from error
                if not process.has_answered:  # else it may have died of something before, and a new one will tell
                    raise BadExpression(expression, f"jq crashed ({_cause_of_death(code)})") from error
            except BaseException:  # cancelled: its answer would be taken for that of the next expression
                process.kill()
                raise

    async def _ready_process(self, expression: str) -> "_Process":
        if self._closed:
            raise BadExpression(expression, "the evaluator is closed")
        if self._process and self._process.is_alive:
            return self._process
        await self._end_process()
        try:
            self._process = _Process(self._max_memory_bytes, self._max_values, self._max_output_bytes)
            async with asyncio.timeout(_START_TIMEOUT_SECONDS):
                await self._process.receive()
        except BaseException as error:
            if self._process:
                self._process.kill()
            if isinstance(error, OSError | EOFError):  # TimeoutError is an OSError
                raise BadExpression(expression, "the jq worker could not be started") from error
            raise
        return self._process

    async def _end_process(self) -> None:
        if self._process:
            await self._process.end()
            self._process = None


class _Process:
    """One worker process and the socket to it, which belongs to no event loop."""

    def __init__(self, max_memory_bytes: int, max_values: int, max_output_bytes: int) -> None:
        arguments = (_jq_directory(), os.getpid(), max_memory_bytes, max_values, max_output_bytes)
        self._killed = False
        self.has_answered = False
        with contextlib.ExitStack() as on_failure:
            self._socket, theirs = socket.socketpair()
            on_failure.callback(self._socket.close)
            with theirs:
                self._popen = subprocess.Popen(
                    [sys.executable, "-IS", jq_worker_main.__file__, *map(str, arguments)],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={},
                    cwd="/",
                    start_new_session=True,  # Ctrl-C in our terminal is not meant for it
                )
            on_failure.pop_all()
        self._socket.setblocking(False)

    @property
    def is_alive(self) -> bool:
        return not self._killed and self._popen.poll() is None

    async def ask(self, request: bytes) -> tuple[bytes, bytearray]:
        """The reply to `request`; OSError or EOFError if the process dies of it."""
        await asyncio.get_running_loop().sock_sendall(self._socket, request)
        reply = await self.receive()
        self.has_answered = True
        return reply

    async def receive(self) -> tuple[bytes, bytearray]:
        kind, size = REPLY.unpack(await self._receive_exactly(REPLY.size))
        return kind, await self._receive_exactly(size)

    def kill(self) -> None:
        self._killed = True
        self._popen.kill()

    async def end(self) -> int:
        """Wait until it is gone, and return its exit code."""
        self.kill()
        try:
            return await asyncio.to_thread(self._popen.wait)
        finally:
            self._socket.close()

    async def _receive_exactly(self, size: int) -> bytearray:
        loop = asyncio.get_running_loop()
        received = bytearray(size)
        view = memoryview(received)
        while view:
            count = await loop.sock_recv_into(self._socket, view)
            if not count:
                raise EOFError
            view = view[count:]
        return received


def _jq_directory() -> str:
    spec = find_spec("jq")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("the jq package is not installed", name="jq")
    return str(Path(spec.origin).parent)


def _request(expression: str, values: Mapping[str, object], seconds: float) -> bytes:
    keys = top_keys(expression)
    named = values if keys is None else {key: values[key] for key in keys if key in values}
    try:
        program = expression.encode()
    except UnicodeEncodeError as error:
        raise BadExpression(expression, f"unpaired surrogate at column {error.start + 1}") from error
    encoded = msgspec.json.encode(as_json(named, max_depth=_MOST_DEPTH))
    return b"".join((REQUEST.pack(max(seconds, _LEAST_SECONDS), len(program), len(encoded)), program, encoded))


def _cause_of_death(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
