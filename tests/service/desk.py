"""A real service, with a folder and a state of its own."""

import textwrap
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from pitstop.app import open_service
from pitstop.service.api import EventInfo, RunRequest, RunSummary
from pitstop.service.local_run import LocalRun
from pitstop.settings import Settings


class Desk:
    """Where tests come with their requests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "work"
        self.settings = Settings(folder / "state")
        self.service = open_service(self.settings)
        self.folder.mkdir()

    def write(self, text: str, name: str = "flow.yaml") -> str:
        """The path of a flow with this text."""
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return str(path)

    def start(self, flow: str, **options: Any) -> AbstractAsyncContextManager[LocalRun]:
        return self.service.start(RunRequest(flow=flow, **{"folder": str(self.folder), **options}))

    async def run(self, flow: str, **options: Any) -> tuple[RunSummary, list[EventInfo]]:
        async with self.start(flow, **options) as run:
            events = [event async for event in run.events()]
            return await run.wait(), events
