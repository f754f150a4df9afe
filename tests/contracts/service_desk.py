"""Where the contract of services is tried: a service, the folders it works in, and ways to wait for it."""

import asyncio
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from pitstop.service.caller import LOCAL
from pitstop.service.debugging import Debugger, StopInfo, verbs
from pitstop.service.desks import Service
from pitstop.service.runs import ActiveRun, DebugRequest, EventInfo, RunRequest
from tests.patience import PATIENCE_SECONDS, wait_until

T = TypeVar("T")

SHOP = """\
    name: shop
    inputs: {who: {default: world}}
    vars: {region: eu, tags: [a, b]}
    steps:
      - {id: hello, name: Say hello, run: "echo hello ${{ .inputs.who }}; echo n=1 >> $PITSTOP_OUTPUT"}
      - parallel:
          - {id: lint, run: echo linted}
          - {id: tests, run: "echo testing >&2; test -e repaired"}
      - {id: package, run: "echo packed > packed.txt", artifacts: packed.txt}
    cleanup:
      - {id: tidy, run: echo tidied}
    """


class Desk:
    """Where the tests come with their requests: a service, the folder that its runs work in, and that of its flows."""

    def __init__(self, service: Service, folder: Path, flow_folder: Path) -> None:
        self.service = service
        self.folder = folder
        self.flow_folder = flow_folder

    def write(self, text: str, name: str = "flow.yaml") -> str:
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return str(path)

    def store_flow(self, name: str, text: str) -> None:
        self.flow_folder.mkdir(parents=True, exist_ok=True)
        (self.flow_folder / f"{name}.yaml").write_text(textwrap.dedent(text))

    async def start(self, text: str = SHOP, **options: Any) -> ActiveRun:
        request = RunRequest(flow=self.write(text), **{"folder": str(self.folder), **options})
        return await self.service.runs.start(LOCAL, request)

    async def debug(self, text: str = SHOP, **options: Any) -> tuple[ActiveRun, StopInfo]:
        """A run and its first stop; at the entry unless something else is asked for."""
        more = {name: options.pop(name) for name in ("secrets", "inputs") if name in options}
        run = await self.start(text, debug=DebugRequest(**{"stop_at_entry": True, **options}), **more)
        return run, await next_stop(self.service, run)

    def debugger(self, run: ActiveRun) -> Debugger:
        return Debugger(self.service.debugging, LOCAL, run.id)

    async def run_to_end(self, text: str = SHOP, **options: Any) -> ActiveRun:
        run = await self.start(text, **options)
        await run.wait()
        return run


async def collected(items: AsyncIterator[Any]) -> list[Any]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        return [each async for each in items]


async def until(ask: Callable[[], Awaitable[T]]) -> T:
    """The first answer that there is anything in."""
    answer: T = await wait_until(ask)
    return answer


async def wait_for(run: ActiveRun, kind: str, after: int = 0) -> EventInfo:
    async with asyncio.timeout(PATIENCE_SECONDS):
        async for event in run.events(after):
            if event.kind == kind:
                return event
    raise AssertionError(f"the run ended without {kind}")


async def next_stop(service: Service, run: ActiveRun, after: int = 0) -> StopInfo:
    """The first stop with an id above `after` that lasts."""
    number = 0
    while True:
        number = (await wait_for(run, "debug.stopped", number)).number
        state = await service.debugging.say(LOCAL, run.id, verbs.State())
        found = [stop for stop in state.stops if stop.id > after]
        if found:
            return found[0]
