"""A real service, with a folder and a state of its own."""

import textwrap
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from pitstop.app import open_service
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import Debugger
from pitstop.service.desks import Service
from pitstop.service.runs import ActiveRun, EventInfo, RunRequest, RunSummary
from pitstop.settings import Settings


class Desk:
    """Where tests come with their requests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "work"
        self.settings = Settings(folder / "state")
        self.folder.mkdir()
        self.opened: Service  # by `start`

    @property
    def service(self) -> AbstractAsyncContextManager[Service]:
        """A new one, as another command would have it."""
        return open_service(self.settings)

    def write(self, text: str, name: str = "flow.yaml") -> str:
        """The path of a flow with this text."""
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return str(path)

    @asynccontextmanager
    async def start(self, flow: str, **options: Any) -> AsyncIterator[ActiveRun]:
        """A run, for as long as its service is open."""
        async with self.service as service:
            self.opened = service
            yield await service.runs.start(LOCAL, self.request(flow, **options))

    def debugger(self, run: ActiveRun) -> Debugger:
        """That of a run which `start` has begun."""
        return Debugger(self.opened.debugging, LOCAL, run.id)

    def request(self, flow: str, **options: Any) -> RunRequest:
        return RunRequest(flow=flow, **{"folder": str(self.folder), **options})

    async def run(self, flow: str, **options: Any) -> tuple[RunSummary, list[EventInfo]]:
        async with self.start(flow, **options) as run:
            events = [event async for event in run.events()]
            return await run.wait(), events
