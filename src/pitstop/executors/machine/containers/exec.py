"""One more command in a container that runs, from its start to its end."""

import asyncio
from collections.abc import Sequence

from pitstop.executors.machine.containers.engine import ContainerEngine, told_gone

READ_BYTES = 64 * 1024
LOOK_SECONDS = 0.02
NOT_RUN = 126  # what an engine tells of a program that is not there


async def execute(engine: ContainerEngine, name: str, argv: Sequence[str]) -> tuple[int, bytes]:
    """The exit code, and the last that it said. Cancelling leaves it running. Raises EngineRefused."""
    request = {"AttachStdout": True, "AttachStderr": True, "Tty": True, "Cmd": list(argv)}
    execution = (await engine.ask("POST", f"/containers/{name}/exec", body=request))["Id"]
    said = b""
    take_over = engine.take_over(f"/exec/{execution}/start", body={"Detach": False, "Tty": True})
    with told_gone(engine.path), await take_over as connection:
        while chunk := await asyncio.get_running_loop().sock_recv(connection, READ_BYTES):
            said = (said + chunk)[-READ_BYTES:]
    while True:
        state = await engine.ask("GET", f"/exec/{execution}/json")
        if not state["Running"]:
            return NOT_RUN if state["ExitCode"] is None else int(state["ExitCode"]), said
        await asyncio.sleep(LOOK_SECONDS)  # it has said all, and is not seen to have ended yet
