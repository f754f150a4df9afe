"""The process of a `python` step: it calls one function and writes down what came of it.

Started as a script with any Python 3.9 or newer, alone with the standard library: Pitstop need not be installed there.

    python_call.py REQUEST ANSWER

REQUEST is a file with `{"call": "module:function", "with": {...}}`, ANSWER the file that is written:
`{"outputs": {...}}`, or `{"reason": text, "trace": text}` for what went wrong. With `"enter": {...}`
in the request somebody wants to step into the function: where a debugger waits for them is told to that port.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import json
import os
import socket
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Wrong(Exception):
    """What keeps the call from having outputs."""


def main() -> None:
    request_file, answer_file = map(Path, sys.argv[1:])
    request = json.loads(request_file.read_text(encoding="utf-8", errors="surrogateescape"))
    sys.argv[:] = [request["call"]]
    sys.path[:] = [*sys.path[1:], str(Path.cwd())]  # the workspace last, so that it hides nothing that is installed
    try:
        function = find(request["call"])
        with entered(function, request.get("enter")):
            returned = call(function, request["with"])
        answer: dict[str, Any] = {"outputs": outputs_of(returned)}
    except Wrong as wrong:
        cause = wrong.__cause__
        answer = {"reason": str(wrong), "trace": "" if cause is None else trace_of(cause)}
    text = json.dumps(answer, default=shown, skipkeys=True)
    unfinished = answer_file.with_suffix(".new")
    unfinished.write_text(text, encoding="utf-8", errors="surrogateescape")
    unfinished.replace(answer_file)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)  # threads that the function left behind are nobody's any more


def find(name: str) -> Callable[..., Any]:
    module_name, _, function_name = name.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
        for part in function_name.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as error:
        raise Wrong(f"cannot be imported: there is no module {error.name!r}") from error
    except AttributeError as error:
        raise Wrong(f"does not exist: {error}") from error
    except BaseException as error:
        raise Wrong(f"cannot be imported: {told(error)}") from error
    if not callable(found):
        raise Wrong(f"is not a function: its type is {type(found).__name__}")
    function: Callable[..., Any] = found
    return function


@contextmanager
def entered(function: Callable[..., Any], wanted: dict[str, Any] | None) -> Iterator[None]:
    """Let somebody step into the function, if that is wanted; what keeps them from it is told to whoever asked."""
    if wanted is None:
        yield
        return
    debugger = sibling("python_debugger")
    try:
        host, port = debugger.listen(__file__)
    except debugger.NoDebugger as problem:
        tell(wanted, {"problem": str(problem)})
        yield
        return
    file, line = debugger.place_of(function)
    tell(wanted, {"host": host, "port": port, "file": file, "line": line})
    if debugger.wait_for_somebody():
        with debugger.stopping_in(function):
            yield
        debugger.leave()
    else:
        sys.stderr.write(f"{debugger.NOBODY_CAME}\n")
        yield


def sibling(name: str) -> Any:
    """A module beside this one, which is in no package here."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tell(wanted: dict[str, Any], news: dict[str, Any]) -> None:
    """Tell whoever asked. Returns when it was heard: a process that has ended by then would not be listened to."""
    with socket.create_connection(("127.0.0.1", wanted["port"])) as connection:
        connection.sendall(json.dumps({"token": wanted["token"], **news}).encode() + b"\n")
        connection.recv(1)  # nothing is said: the other end is closed


def call(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    try:
        inspect.signature(function).bind(**arguments)
    except TypeError as mismatch:
        raise Wrong(f"cannot be called with these arguments: {mismatch}") from mismatch
    except ValueError:  # one written in C may not tell its parameters
        pass
    try:
        returned = function(**arguments)
        return asyncio.run(waited(returned)) if inspect.isawaitable(returned) else returned
    except BaseException as error:
        raise Wrong(f"raised {told(error)}") from error


async def waited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def outputs_of(returned: object) -> dict[str, Any]:
    if returned is None:
        return {}
    if not isinstance(returned, Mapping):
        raise Wrong(f"returned {type(returned).__name__}: return a mapping with the outputs, or None")
    return {str(key): value for key, value in returned.items()}


def shown(value: object) -> Any:
    """What is no JSON, as some."""
    if isinstance(value, Mapping):
        return {str(key): child for key, child in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode(errors="replace")
    return str(value)


def told(error: BaseException) -> str:
    """The exception and its place, which is the last one that is not ours."""
    places = [place for place in traceback.extract_tb(error.__traceback__) if is_theirs(place.filename)]
    at = f" ({places[-1].filename}:{places[-1].lineno})" if places else ""
    return f"{type(error).__name__}: {error}{at}"


def trace_of(error: BaseException) -> str:
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def is_theirs(file: str) -> bool:
    return not file.startswith("<") and Path(file).resolve() != Path(__file__).resolve()


if __name__ == "__main__":
    main()
