"""The process that records a command in a container: it writes what the container writes, and exits with its code.

    python recorder.py SOCKET CONTAINER        its input is a Unix socket, which brings it its connections

It runs under a supervisor, which stores its output and its end as those of any command, also while Pitstop is away.
It is started as a plain file, with nothing of the package but this, so that it costs little.
"""

import json
import os
import re
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator

FRAME_HEAD = struct.Struct(">BxxxI")  # the stream, and how many bytes follow
STDOUT, STDERR = 1, 2  # as streams and as file descriptors
READ_BYTES = 64 * 1024
FLOOD_BYTES = 1024 * 1024
ANSWER_SECONDS = 5.0
LOOK_SECONDS = 0.05
KILLED = 128 + signal.SIGKILL


class Frames:
    """Takes the frames of an attached container apart, wherever the pieces that they come in are cut."""

    def __init__(self) -> None:
        self._head = b""
        self._stream = STDOUT
        self._left = 0

    def feed(self, data: memoryview) -> Iterator[tuple[int, bytes]]:
        """The stream and bytes of each run of frames of one stream."""
        parts: list[memoryview] = []
        while data:
            if self._left:
                parts.append(data[: self._left])
                self._left -= len(parts[-1])
                data = data[len(parts[-1]) :]
                continue
            missing = FRAME_HEAD.size - len(self._head)
            self._head += bytes(data[:missing])
            data = data[missing:]
            if len(self._head) < FRAME_HEAD.size:
                break
            number, self._left = FRAME_HEAD.unpack(self._head)
            self._head = b""
            stream = STDERR if number == STDERR else STDOUT
            if stream != self._stream and parts:
                yield self._stream, b"".join(parts)
                parts = []
            self._stream = stream
        if parts:
            yield self._stream, b"".join(parts)


def pass_on(connection: socket.socket) -> None:
    """Write what the container writes, until it has ended. Raises ConnectionError if its engine has."""
    frames = Frames()
    buffer = bytearray(READ_BYTES)
    poller = select.poll()  # the connection does not block: Pitstop uses it too, for the input
    poller.register(connection, select.POLLIN)
    while True:
        poller.poll()
        count = connection.recv_into(buffer)
        if not count:
            return
        for stream, data in frames.feed(memoryview(buffer)[:count]):
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(stream, rest) :]
        if count == READ_BYTES:
            buffer = bytearray(FLOOD_BYTES)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, FLOOD_BYTES)


def read_code(asked: socket.socket) -> int | None:
    """The exit code, which the engine was asked for before the container started; None if the engine is gone."""
    asked.setblocking(True)
    answer = b""
    while (found := re.search(rb'"StatusCode":\s*(\d+)\D', answer)) is None:
        received = asked.recv(READ_BYTES)
        if not received:
            return None
        answer += received
    return int(found[1])


def ask_code(path: str, container: str) -> int | None:
    """The exit code of a container that survives its engine; None if there is no engine, or the container runs on."""
    give_up_at = time.monotonic() + ANSWER_SECONDS
    while time.monotonic() < give_up_at:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(ANSWER_SECONDS)
            connection.connect(path)
            connection.sendall(f"GET /containers/{container}/json HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
            answer = b"".join(iter(lambda: connection.recv(READ_BYTES), b""))
        state = json.loads(answer.partition(b"\r\n\r\n")[2]).get("State")
        if state is None:
            return None
        if state["Status"] == "exited":
            return int(state["ExitCode"])
        time.sleep(LOOK_SECONDS)  # its output ends before it does
    return None


def main() -> None:
    path, container = sys.argv[1:]
    with socket.socket(fileno=0) as pitstop:
        _, connections, _, _ = socket.recv_fds(pitstop, 1, 2)
    output, *asked = [socket.socket(fileno=fd) for fd in connections]
    try:
        pass_on(output)
        code = read_code(asked[0]) if asked else ask_code(path, container)
    except (OSError, ValueError):  # the engine is gone
        code = None
    if code is None or code == KILLED:  # one that is removed while it runs is killed, too
        os.kill(os.getpid(), signal.SIGKILL)  # which its supervisor does not store
    sys.exit(code)


if __name__ == "__main__":
    main()
