"""Starts servers by forking itself, so that a new one is there at once: a process of its own, which can be killed.

    python -m tests.chaos.forker HOME DATABASE LEASE_SECONDS

Each line on its input is a port; it answers with the id of the process that serves there.
"""

import asyncio
import os
import signal
import sys
import tempfile
import traceback
from pathlib import Path

import uvloop

from pitstop.service.caller import LOCAL
from pitstop.service.runs import DebugRequest, RunRequest
from pitstop.serving.house import Serving, open_house, serve
from pitstop.settings import Settings


def main() -> None:
    home, database, lease = sys.argv[1:]
    settings = Settings(Path(home), database or None)
    asyncio.run(warm_up())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(0)
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - for good
            serving = Serving(
                settings=settings,
                port=int(line),
                slots=50,
                lease_seconds=float(lease),
                drain_seconds=0.5,
            )
            try:
                uvloop.run(serve(serving, lambda _: None))
            except BaseException:  # noqa: BLE001 - told, and never handed on to what is ours
                traceback.print_exc()
            finally:
                os._exit(1)
        print(child, flush=True)


async def warm_up() -> None:
    """Serve once, and run something, so that nothing is left to be imported."""
    with tempfile.TemporaryDirectory() as home:
        async with open_house(Serving(settings=Settings(Path(home)), port=0)) as house:
            debug = DebugRequest(stop_on_error=False)
            run = await house.service.runs.start(
                LOCAL, RunRequest(flow="a.yaml", text="steps: [run: exit 0]", debug=debug)
            )
            await run.wait()


if __name__ == "__main__":
    main()
