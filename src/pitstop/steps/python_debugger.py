"""The debugger of a Python process, debugpy: it listens, waits for somebody, and stops at a function's first line.

Alone with the standard library and debugpy: the process of a `python` step need not have Pitstop. Nothing of debugpy is
imported before somebody wants to step into a function.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

HOST = "127.0.0.1"
WAIT_SECONDS = 60.0  # for somebody to come; then the function is run through
NOBODY_CAME = f"no debugger attached within {WAIT_SECONDS:g} s, so the function runs without one"

_listens_at: tuple[str, int] | None = None


class NoDebugger(Exception):
    """Why nobody can step into the function here."""


def listen(*hidden: str) -> tuple[str, int]:
    """Where this process listens. Threads that were there before are never stopped, and `hidden` files not shown."""
    global _listens_at
    if _listens_at is not None:
        return _listens_at
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # a warning that is not for users of steps
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            _let_be(thread)
    try:
        debugpy = _debugpy()
        importlib.import_module("debugpy.server.api")  # which brings what has no public name
    except ImportError as error:
        raise NoDebugger(
            f"cannot be stepped into: debugpy is not installed in {sys.executable}; "
            f"install it with `{sys.executable} -m pip install debugpy`"
        ) from error
    _hide(__file__, *hidden)
    address = HOST, _free_port()  # one that we know: older versions do not tell which one they were given
    try:
        debugpy.listen(address, in_process_debug_adapter=True)
    except (RuntimeError, OSError, TypeError) as error:
        raise NoDebugger(f"cannot be stepped into: debugpy cannot listen: {error}") from error
    _wait_until_it_listens()
    _leave_new_threads_alone()
    _listens_at = address
    return address


def listens() -> bool:
    return _listens_at is not None


def is_attached() -> bool:
    """Whether a client is connected to this process already."""
    return bool(_debugpy().is_client_connected())


def wait_for_somebody() -> bool:
    """Whether a client is there, now or in time."""
    debugpy = _debugpy()
    if not is_attached():
        timer = threading.Timer(WAIT_SECONDS, stop_waiting)
        _let_be(timer)
        timer.start()
        try:
            debugpy.wait_for_client()
        finally:
            timer.cancel()
    return is_attached()


def stop_waiting() -> None:
    """`wait_for_somebody` gives up, in whichever thread it waits."""
    with suppress(RuntimeError):  # nobody waits
        _debugpy().wait_for_client.cancel()


def leave() -> None:
    """Tell whoever is there that the process is about to end."""
    importlib.import_module("pydevd").stoptrace()


@contextmanager
def stopping_in(function: Callable[..., Any]) -> Iterator[None]:
    """Stop at the first line of the function when this thread calls it in here. Leaving ends any stepping."""
    debugpy, pydevd = _debugpy(), importlib.import_module("pydevd")
    code = code_of(function)

    def see_call(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code is code:
            sys.setprofile(None)
            pydevd.settrace(
                suspend=True, trace_only_current_thread=True, patch_multiprocessing=False, stop_at_frame=frame
            )

    _let_be(threading.current_thread(), is_let_be=False)
    debugpy.trace_this_thread(True)
    sys.setprofile(see_call)
    try:
        yield
    finally:
        sys.setprofile(None)
        _forget_step()


def place_of(function: Any) -> tuple[str | None, int | None]:
    """The file and the first line of the code."""
    code = code_of(function)
    return (None, None) if code is None else (code.co_filename, code.co_firstlineno)


def code_of(function: Any) -> CodeType | None:
    """The code that a call of it comes to, behind what is wrapped around it; None for what is not written in Python."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    if not hasattr(function, "__code__"):  # an object that can be called
        function = vars(type(function)).get("__call__")
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _debugpy() -> Any:
    return importlib.import_module("debugpy")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


# --- What debugpy has no public name for; without it, whoever steps is shown more than they need ---------------------


def _let_be(thread: threading.Thread, *, is_let_be: bool = True) -> None:
    """Never hold this thread up."""
    thread.pydev_do_not_trace = is_let_be  # type: ignore[attr-defined]


def _hide(*files: str) -> None:
    with suppress(ImportError, AttributeError):
        known = importlib.import_module("_pydevd_bundle.pydevd_dont_trace_files")
        known.DONT_TRACE.update({Path(file).name: known.PYDEV_FILE for file in files})


def _wait_until_it_listens() -> None:
    """Newer versions have done so already."""
    with suppress(ImportError, AttributeError):
        importlib.import_module("_pydevd_bundle.pydevd_constants").get_global_debugger().wait_for_server_socket_ready()


def _leave_new_threads_alone() -> None:
    with suppress(ImportError, AttributeError):
        importlib.import_module("_pydev_bundle.pydev_monkey").undo_patch_thread_modules()


def _forget_step() -> None:
    with suppress(ImportError, AttributeError):
        threads = importlib.import_module("_pydevd_bundle.pydevd_additional_thread_info")
        about = threads.set_additional_thread_info(threading.current_thread())
        about.pydev_step_cmd, about.pydev_step_stop = -1, None
