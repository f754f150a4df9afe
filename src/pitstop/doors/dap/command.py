"""`pitstop dap`: the adapter on its standard input and output, or on a port of this machine."""

import argparse
import asyncio
import os
import secrets
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pitstop.doors.dap.session.services import OpenService

EPILOG = """\
Editors start it themselves: docs/guides/editors.md has the settings for each. With --port it waits for one client,
which must send the printed token, or the one in PITSTOP_DAP_TOKEN, as `adapterToken` when it launches or attaches.
"""
LOOPBACK = "127.0.0.1"
TOKEN = "PITSTOP_DAP_TOKEN"


def dap_command(words: Sequence[str], open_service: "OpenService", interrupts: Any) -> int:
    parser = _parser()
    options = parser.parse_args(words)
    if options.port is not None:
        return _run(_serve_port(options, open_service), interrupts)
    return _run(_serve_stdio(options, open_service, _take_stdout()), interrupts)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pitstop dap",
        description="Run the debug adapter for an editor (Debug Adapter Protocol).",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--port", type=int, metavar="PORT", help="listen for one client on this local port (0: any)")
    parser.add_argument(
        "--launch-response",
        choices=("early", "late"),
        default="early",
        help="when to answer launch: at once, or when the run has started (early)",
    )
    return parser


def _take_stdout() -> int:
    """Standard output belongs to the protocol: what anybody prints goes to standard error from here on."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # it is closed, and whatever is opened next would be taken for it
            os.open(os.devnull, os.O_RDWR)
    own = os.dup(1)
    os.dup2(2, 1)
    return own


def _run(serving: Any, interrupts: Any) -> int:
    async def until_interrupted() -> None:
        task = asyncio.current_task()
        with interrupts.taken_by(lambda name, count: task.cancel() if task is not None else None):
            await serving

    try:
        asyncio.run(until_interrupted())
    except asyncio.CancelledError:
        return 130
    return 0


async def _serve_stdio(options: argparse.Namespace, open_service: "OpenService", output: int) -> None:
    from pitstop.doors.dap.protocol.pipes import open_reader, open_writer
    from pitstop.doors.dap.serving import serve_client

    reader = await open_reader(0)
    writer = await open_writer(output)
    late = options.launch_response == "late"
    try:
        await serve_client(reader, writer.write, open_service, is_launch_answered_late=late)
    finally:
        await writer.close()


async def _serve_port(options: argparse.Namespace, open_service: "OpenService") -> None:
    """One client that knows the token. Whoever does not is sent away, and the next one may try."""
    from pitstop.doors.dap.protocol.pipes import ClientWriter
    from pitstop.doors.dap.protocol.wire import LONGEST_LINE
    from pitstop.doors.dap.serving import serve_client

    token = os.environ.get(TOKEN) or secrets.token_urlsafe(16)
    late = options.launch_response == "late"
    served = asyncio.Event()
    turn = asyncio.Lock()

    async def serve(reader: asyncio.StreamReader, stream: asyncio.StreamWriter) -> None:
        writer = ClientWriter(stream)
        async with turn:
            is_served = False
            try:
                is_served = not served.is_set() and await serve_client(
                    reader, writer.write, open_service, token=token, is_launch_answered_late=late
                )
            finally:
                await writer.close()
            if is_served:  # not before it was sent all that it is told
                served.set()

    server = await asyncio.start_server(serve, LOOPBACK, options.port, limit=LONGEST_LINE)
    port = server.sockets[0].getsockname()[1]
    told = "" if TOKEN in os.environ else f" adapterToken={token}"
    sys.stdout.write(f"pitstop dap: listening on {LOOPBACK}:{port}{told}\n")
    sys.stdout.flush()
    async with server:
        await served.wait()
