"""Blaming a tool call: the one after which a command fails is found with few runs of the command."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pitstop.app import open_service
from pitstop.errors import CommandRefused, NoFiles
from pitstop.service.blame import Blame, blame
from pitstop.service.caller import LOCAL
from pitstop.service.desks import Service
from pitstop.service.runs import RunRequest
from tests.agents.agent_flows import write_agent_flow

CHECK = ("sh", "-c", "! grep -q broken *.txt")


def edits(count: int, broken: int | None) -> list[dict[str, Any]]:
    """Calls that each write a file, and read it; one of the files is broken."""
    return [
        {"tool": "edit", "path": f"{number:02}.txt", "content": "broken\n" if number == broken else "fine\n"}
        for number in range(1, count + 1)
    ]


@asynccontextmanager
async def run_of(tmp_path: Path, steps: list[dict[str, Any]], more: str = "") -> AsyncIterator[tuple[Service, str]]:
    flow = write_agent_flow(tmp_path, steps, more=more)
    async with open_service() as service:
        run = await service.runs.start(LOCAL, RunRequest(flow=str(flow)))
        summary = await run.wait()
        assert summary.status == "passed", summary
        yield service, run.id


async def found_in(tmp_path: Path, steps: list[dict[str, Any]]) -> Blame:
    async with run_of(tmp_path, steps) as (service, run):
        return await blame(service, LOCAL, run, CHECK)


async def test_the_call_that_broke_it_is_found_among_forty_with_six_runs(tmp_path: Path) -> None:
    found = await found_in(tmp_path, edits(40, broken=17))

    assert (found.step, found.call, found.title) == ("fix", "17", "edit: 17.txt")
    assert len(found.probes) <= 6


@pytest.mark.parametrize(("broken", "call"), [(1, "1"), (5, "5")])
async def test_the_first_and_the_last_call_can_be_found(tmp_path: Path, broken: int, call: str) -> None:
    found = await found_in(tmp_path, edits(5, broken))

    assert (found.call, found.reason) == (call, "")


async def test_a_command_that_passes_after_the_agent_blames_no_call(tmp_path: Path) -> None:
    found = await found_in(tmp_path, edits(3, broken=None))

    assert (found.call, found.reason) == (None, "the command passes after the last call")


async def test_a_command_that_failed_before_the_agent_blames_no_call(tmp_path: Path) -> None:
    async with run_of(tmp_path, edits(3, broken=None)) as (service, run):
        found = await blame(service, LOCAL, run, ("false",))

    assert (found.call, found.reason) == (None, "the command fails before the first call already")


async def test_calls_that_change_nothing_are_passed_over(tmp_path: Path) -> None:
    look: dict[str, Any] = {"tool": "shell", "command": "ls"}
    steps = [look, *edits(1, broken=1), look, look]

    found = await found_in(tmp_path, steps)

    assert found.title == "edit: 01.txt"
    assert len(found.probes) <= 2


async def test_what_cannot_be_blamed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plain.yaml").write_text("steps:\n  - run: echo\n")
    async with open_service() as service:
        plain = await service.runs.start(LOCAL, RunRequest(flow=str(tmp_path / "plain.yaml")))
        await plain.wait()
        with pytest.raises(CommandRefused, match="has no agent step"):
            await blame(service, LOCAL, plain.id, CHECK)

    flow = write_agent_flow(tmp_path, edits(2, broken=2))
    async with open_service() as service:
        started = await service.runs.start(LOCAL, RunRequest(flow=str(flow), folder=str(tmp_path)))
        await started.wait()
        with pytest.raises(NoFiles, match="the tool calls of fix"):
            await blame(service, LOCAL, started.id, CHECK)
        with pytest.raises(CommandRefused, match=r"no agent step .fox.: use fix"):
            await blame(service, LOCAL, started.id, CHECK, step="fox")
