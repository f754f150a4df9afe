"""Commands that ended while their server was away are not run again: their results are taken, and their logs whole."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.amounts import IS_SOAK, amount
from tests.chaos.world import Servers
from tests.containers import BOX, Docker
from tests.databases import postgres, postgres_url  # noqa: F401 - fixtures
from tests.patience import wait_until

KILLS = amount(1, soak=10)
STOPS = amount(1, soak=10)
TAKEOVERS = amount(1, soak=3)
AT_ONCE = amount(3, soak=10)
STEPS = [f"1.s{number}" for number in range(AT_ONCE)]
LEASE_SECONDS = 15.0 if IS_SOAK else 2.0
STOPPED_SECONDS = 26.0  # in a soak test; else until the commands have lost their lease
# The line in the file is the last act of a command: a second line is a second execution
COMMAND = (
    'echo begins; touch "$PLACE/began.$PITSTOP_STEP"; while [ ! -e "$PLACE/go" ]; do sleep 0.01; done; '
    'echo "word=$PITSTOP_STEP" >> "$PITSTOP_OUTPUT"; touch "$PITSTOP_ARTIFACTS/$PITSTOP_STEP"; '
    'echo ends; echo once >> "$PLACE/ended.$PITSTOP_STEP"'
)


class World:
    """Servers whose commands end while the server that started them is stopped."""

    def __init__(self, servers: Servers, folder: Path, client: httpx.AsyncClient) -> None:
        self.servers = servers
        self.first, self.last = servers.ports[0], servers.ports[-1]
        self.workspaces = servers.home / "workspaces"
        self._folder = folder
        self._rounds = 0
        self._client = client

    async def ask(self, port: int, method: str, path: str, **more: Any) -> httpx.Response:
        token = await wait_until(lambda: token_in(self.servers.home))
        headers = {"Authorization": f"Bearer {token}"}

        async def try_once() -> httpx.Response | None:
            try:
                url = f"http://127.0.0.1:{port}/api/v1{path}"
                answer = await self._client.request(method, url, headers=headers, **more)
            except httpx.TransportError:  # it is not there yet
                return None
            return answer if answer.is_success else None

        answer: httpx.Response = await wait_until(try_once, f"{port} does not answer {method} {path}")
        return answer

    async def play(self, come_back: Callable[[], Awaitable[None]]) -> None:
        """Stop the first server while its commands run, let them end, and `come_back`: each has run once."""
        self._rounds += 1
        place = self._folder / f"round-{self._rounds}"
        place.mkdir()
        body = {"flow": {"text": flow(place), "name": "flow.yaml"}}
        run = (await self.ask(self.first, "POST", "/runs", json=body)).json()["id"]
        places = (place, self.workspaces / run / "repo")  # a container sees the second one
        await wait_until(lambda: len(found("began.*", places)) == AT_ONCE)
        self.stop()
        for each in places:
            (each / "go").touch()
        await wait_until(lambda: len([*self.workspaces.glob(f"{run}*/.pitstop/logs/*.end")]) == AT_ONCE)
        await come_back()
        await self._check(run, places)

    def stop(self) -> None:
        os.kill(self.servers.pids[self.first], signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.servers.pids[self.first], signal.SIGCONT)

    async def _check(self, run: str, places: Sequence[Path]) -> None:
        async def ended() -> Any:
            info = (await self.ask(self.last, "GET", f"/runs/{run}")).json()
            return info if info["status"] not in ("pending", "running") else None

        info = await wait_until(ended)
        assert (info["status"], info["error"]) == ("passed", None)
        assert [path.read_text().count("once") for path in found("ended.*", places)] == [1] * AT_ONCE
        stream = await self.ask(self.last, "GET", f"/runs/{run}/events")
        events = [json.loads(line[6:]) for line in stream.text.splitlines() if line.startswith('data: {"')]
        assert [each["kind"] for each in events].count("step.interrupted") == 0
        outputs = [each["outcome"]["outputs"] for each in events if each["kind"] == "step.finished"]
        words = sorted(each["word"] for each in outputs if each is not None)
        assert words == STEPS
        assert {path.name for path in (self.workspaces / run / "artifacts").iterdir()} == set(STEPS)
        assert not [*self.workspaces.glob(f"{run}-fresh-*")]
        for step in STEPS:
            page = await self.ask(self.last, "GET", f"/runs/{run}/log", params={"occurrence": step})
            assert [line["text"] for line in page.json()["lines"]] == ["begins", "ends"]


def flow(place: Path) -> str:
    """Steps in the workspace of the run, in a container, and in a workspace of their own, in turn."""
    places = ["", f"image: {BOX}, env: {{PLACE: .}}, ", "workspace: fresh, "]
    steps = [f"      - {{id: s{number}, {places[number % 3]}run: '{COMMAND}'}}" for number in range(AT_ONCE)]
    return "\n".join(["name: f", f"env: {{PLACE: {place}}}", "steps:", "  - parallel:", *steps])


def found(pattern: str, places: Sequence[Path]) -> list[Path]:
    return [path for place in places for path in place.glob(pattern)]


def token_in(home: Path) -> str | None:
    file = home / "token"
    return file.read_text().strip() or None if file.exists() else None


@asynccontextmanager
async def living(folder: Path, database: str, servers: int) -> AsyncIterator[World]:
    async with httpx.AsyncClient(timeout=60.0) as client:
        with Servers(folder / "home", database, servers, LEASE_SECONDS).running() as running:
            yield World(running, folder, client)


@pytest.mark.timeout(1800)
async def test_no_command_that_ended_runs_again_after_its_server_was_killed_or_stopped(
    tmp_path: Path, docker: Docker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", docker.host)
    async with living(tmp_path, "", 1) as world:

        async def killed() -> None:
            world.servers.kill(world.first)
            world.servers.start(world.first)

        async def stopped_for_longer_than_the_lease() -> None:
            epochs = set(world.workspaces.glob("*.epoch"))
            await wait_until(lambda: not any(each.exists() for each in epochs))
            await asyncio.sleep(STOPPED_SECONDS - LEASE_SECONDS / 2 if IS_SOAK else 0)
            world.resume()

        for _ in range(KILLS):
            await world.play(killed)
        for _ in range(STOPS):
            await world.play(stopped_for_longer_than_the_lease)


if IS_SOAK:

    @pytest.mark.timeout(1800)
    async def test_another_server_takes_the_results_of_one_that_was_killed_or_stopped(
        tmp_path: Path, docker: Docker, monkeypatch: pytest.MonkeyPatch, postgres_url: str
    ) -> None:
        monkeypatch.setenv("DOCKER_HOST", docker.host)
        async with living(tmp_path, postgres_url, 2) as world:

            async def stays_stopped() -> None:
                pass

            async def killed() -> None:
                world.servers.kill(world.first)

            for _ in range(TAKEOVERS):
                await world.play(stays_stopped)
                world.resume()
                await world.play(killed)
                world.servers.start(world.first)
