"""What the process of a function tells of its debugger, and when that is too late."""

import asyncio
import contextlib
import json
import socket
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from pitstop.engine.frame import Activation
from pitstop.plan.plan import Step
from pitstop.steps.entering import entrance
from tests.steps.bench import Bench


class Entered:
    """A step that ends when its process tells something, while a stranger who has found the port says nothing."""

    name: ClassVar[str] = "entered"

    def __init__(self, bench: Bench, listened_to: asyncio.Event) -> None:
        self._bench = bench
        self._listened_to = listened_to
        self.process = socket.socket()
        self.stranger = socket.socket()

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> dict[str, Any]:
        async with entrance(self._bench.workplace, activation, "some:function") as given:
            for connection in (self.stranger, self.process):
                connection.connect(("127.0.0.1", given["port"]))
                await self._listened_to.wait()
                self._listened_to.clear()
            news = {"token": given["token"], "problem": "cannot be stepped into"}
            self.process.sendall(json.dumps(news).encode() + b"\n")
        return {}


async def test_nothing_is_told_of_a_step_that_has_ended_and_nobody_keeps_it_from_its_end(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    listened_to, readline = asyncio.Event(), asyncio.StreamReader.readline

    async def readline_and_tell(self: asyncio.StreamReader) -> bytes:
        listened_to.set()
        return await readline(self)

    monkeypatch.setattr(asyncio.StreamReader, "readline", readline_and_tell)
    step = Entered(bench, listened_to)
    with step.process, step.stranger:
        await bench.execute(Step("", "sequence", children=(Step("it", "entered", {}, id="it"),)), {}, {"entered": step})
        for connection in (step.process, step.stranger):
            with contextlib.suppress(ConnectionResetError):
                assert await asyncio.to_thread(connection.recv, 1) == b""

    assert bench.said == ""
