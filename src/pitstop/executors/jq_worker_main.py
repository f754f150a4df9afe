"""The process in which jq runs: it answers requests on its standard input, a socket, until that is closed.

It is started as a script, alone with the standard library and the directory of the jq package, so that it is up
in a few hundredths of a second; JqWorker is its only client.

    request   seconds, length of the expression, length of the values, the expression, the values as JSON
    reply     one of the letters below, a length, and as much JSON or text

Out of memory it aborts, be it Python or jq that gets none. It dies of SIGPROF when an expression has worked for longer
than its seconds; the time in which a busy machine gives it nothing to work with does not count.
"""

import os
import re
import signal
import socket
import struct
import sys
from functools import lru_cache, partial
from importlib import import_module
from itertools import islice
from typing import Any

REQUEST = struct.Struct("!dQQ")
REPLY = struct.Struct("!cQ")
READY, VALUES, ERROR = b"R", b"V", b"E"

_BEFORE = ". | "  # after an expression has begun jq allows no `import` and no `include`, which read files
_AFTER = "\n\n| @json"  # a comment may go on for one more line when it ends in a backslash, so two
_COMPILE_ERROR = r"(?s)jq: error: (.*?) at <top-level>, line (\d+), column (\d+):"
_CACHED_PROGRAMS = 512
_SHOWN_CHARACTERS = 2_000
_PR_SET_PDEATHSIG = 1


def main() -> None:
    jq_directory, parent, max_memory_bytes, max_values, max_output_bytes = sys.argv[1:]
    sys.path.append(jq_directory)
    program = lru_cache(_CACHED_PROGRAMS)(partial(_compile, import_module("jq")))
    _die_with(int(parent))
    _shut_in(int(max_memory_bytes))
    client = socket.socket(fileno=0)
    _send(client, READY, b"")
    while header := _receive(client, REQUEST.size):
        seconds, expression_size, values_size = REQUEST.unpack(header)
        try:
            expression = _receive(client, expression_size).decode()
            values = _receive(client, values_size).decode()
            signal.setitimer(signal.ITIMER_PROF, seconds)
            results = _evaluate(program(expression), values, int(max_values), int(max_output_bytes))
            signal.setitimer(signal.ITIMER_PROF, 0)
        except MemoryError:
            os.abort()
        except ValueError as error:
            signal.setitimer(signal.ITIMER_PROF, 0)
            reason = "there is no more input" if str(error) == "break" else str(error)
            _send(client, ERROR, reason[:_SHOWN_CHARACTERS].encode(errors="replace"))
        else:
            _send(client, VALUES, results)


def _compile(jq: Any, expression: str) -> Any:
    if not expression.strip():
        raise ValueError("it is empty")
    if "\0" in expression:
        raise ValueError(f"NUL character at column {expression.index(chr(0)) + 1}")
    try:
        return jq.compile(_BEFORE + expression + _AFTER)
    except ValueError as complaint:
        message = str(complaint)
    try:
        jq.compile(_BEFORE + expression)  # for a message that does not speak of what we appended
    except ValueError as complaint:
        message = str(complaint)
    raise ValueError(_without_noise(message, expression))


def _evaluate(program: Any, values: str, max_values: int, max_output_bytes: int) -> bytes:
    results: list[bytes] = []
    size = 0
    for text in islice(program.input_text(values), max_values + 1):
        results.append(text.encode())
        size += len(results[-1]) + 1
        if size > max_output_bytes:
            raise ValueError(f"returned more than {max_output_bytes:,} bytes")
    if len(results) > max_values:
        raise ValueError(f"returned more than {max_values:,} values")
    return b"[" + b",".join(results) + b"]"


def _without_noise(message: str, expression: str) -> str:
    """jq's complaints about an expression, with places in what the user wrote."""
    complaints = []
    for reason, line, column in re.findall(_COMPILE_ERROR, message):
        place = f"column {int(column) - (len(_BEFORE) if line == '1' else 0)}"
        complaints.append(f"{reason}, {f'line {line}, ' if chr(10) in expression else ''}{place}")
    return "; ".join(complaints) or message.removeprefix("jq: error: ").partition("\n")[0]


def _die_with(parent: int) -> None:
    """End when the parent does: an endless loop in jq would not see that its input is closed."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - JqWorker reads this file too, and need not load it

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit()  # it was gone before we asked


def _shut_in(max_memory_bytes: int) -> None:
    """From here on: no environment, no file can be opened, no core is dumped, and memory has an end."""
    import resource  # noqa: PLC0415 - as above

    os.environ.clear()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        with open("/proc/self/statm", "rb") as statm:  # noqa: PTH123 - pathlib would add a quarter to the start
            used_bytes = int(statm.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used_bytes + max_memory_bytes,) * 2)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def _receive(client: socket.socket, size: int) -> bytearray:
    """The next `size` bytes; nothing at the end of the stream."""
    received = bytearray(size)
    view = memoryview(received)
    while view:
        count = client.recv_into(view)
        if not count:
            return bytearray()
        view = view[count:]
    return received


def _send(client: socket.socket, kind: bytes, payload: bytes) -> None:
    client.sendall(REPLY.pack(kind, len(payload)) + payload)


if __name__ == "__main__":
    main()
