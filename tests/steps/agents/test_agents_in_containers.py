"""Agents in containers: they are held there as elsewhere, and the key of their model stays outside."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from pitstop.steps.agents.preparing import NO_KEY
from tests.agents.model_server import ModelServer, Turn
from tests.containers import BOX, WITH_PYTHON, Docker
from tests.steps.agents.agent_bench import GATED, KEY, KEYS, AgentBench, next_stop, open_agent_bench
from tests.steps.agents.test_guarded_agents import shell, sockets_in

ASK = """
import json, os, urllib.request
question = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], "tools": [{"name": "x"}]}
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
request = urllib.request.Request(url, json.dumps(question).encode(), {"content-type": "application/json"})
print(urllib.request.urlopen(request).read().decode())
"""


@pytest.fixture(scope="module", autouse=True)
def image(docker: Docker) -> None:
    docker.make_image_with_python()


@pytest_asyncio.fixture
async def agents(docker: Docker, tmp_path: Path) -> AsyncIterator[AgentBench]:
    async with open_agent_bench(tmp_path, docker=docker) as bench:
        bench.write("ask.py", ASK)
        yield bench


@pytest.mark.parametrize("agent", GATED)
async def test_a_call_is_held_and_changed_and_the_container_has_no_key(
    agents: AgentBench, docker: Docker, agent: str
) -> None:
    config = agents.config(agent, [shell("touch removed"), shell("touch refused")], image=WITH_PYTHON)
    async with agents.debugging(config, tool="shell") as (session, task):
        stop = await next_stop(session)
        container = docker.says("inspect", *docker.says("ps", "--quiet").split())
        assert f"{KEYS[agent]}={NO_KEY}" in container
        await session.override_config(stop, {"command": "touch changed"})
        await session.continue_(stop)
        await session.skip(await next_stop(session), message="ask me first")
        outcome = await task

    assert sorted(outcome.outputs["files"]) == ["ask.py", "changed"]
    assert [each["how"] for each in agents.calls] == ["changed", "refused"]


@pytest.mark.parametrize("more", [{}, {"network": "model"}, {"user": "app"}])
async def test_the_relay_adds_the_key_and_counts(agents: AgentBench, more: dict[str, Any]) -> None:
    if "user" in more:
        os.chmod(agents.bench.workspace.home, 0o777)  # noqa: PTH101 (where it records calls)
    async with ModelServer([Turn("hello from the model")]) as server:
        config = agents.config("claude", [shell("python3 ask.py")], image=WITH_PYTHON, api=server.url, **more)
        outputs = await agents.outputs(config)

    assert "hello from the model" in agents.notes("agent.returned")[0]["output"]
    assert server.requests[0].headers["x-api-key"] == KEY
    assert outputs["tokens"] == {"in": 100, "out": 10, "cached": 0}
    assert not sockets_in(agents.bench.workspace.control)


async def test_without_a_network_not_even_the_relay_is_reached(agents: AgentBench) -> None:
    async with ModelServer([Turn("hello")]) as server:
        asking = shell("python3 ask.py || echo unreachable")
        await agents.outputs(agents.config("claude", [asking], image=WITH_PYTHON, api=server.url, network="none"))

    assert "unreachable" in agents.notes("agent.returned")[0]["output"]
    assert server.requests == []


async def test_an_agent_that_ends_its_way_to_the_relay_gets_nothing_else(agents: AgentBench) -> None:
    async with ModelServer([Turn("hello")]) as server:
        forwarder = '$(grep -l "[8]437=" /proc/[0-9]*/cmdline | cut -d/ -f3 | grep -vx 1)'
        asking = shell(f"kill {forwarder} && python3 ask.py || echo unreachable")
        await agents.outputs(agents.config("claude", [asking], image=WITH_PYTHON, api=server.url))

    assert "Connection refused" in agents.notes("agent.returned")[0]["output"]
    assert server.requests == []


async def test_a_fork_bomb_meets_the_limit_of_processes(agents: AgentBench, docker: Docker) -> None:
    bomb: list[dict[str, Any]] = [{"fork_bomb": 100}, shell("touch made")]
    told = await agents.failure(agents.config("claude", bomb, image=WITH_PYTHON, pids=50))

    assert "Resource temporarily unavailable" in told
    assert not (agents.repo / "made").exists()
    assert docker.left() == {}


async def test_an_image_in_which_nothing_can_forward_to_the_relay_is_refused(agents: AgentBench) -> None:
    told = await agents.failure(agents.config("claude", [shell("touch made")], image=BOX))

    assert told == "AgentFailed: claude failed: ports cannot be forwarded in this image: add python3 or node to it"
    assert not agents.calls


async def test_on_another_machine_a_container_has_no_relay(docker: Docker, tmp_path: Path) -> None:
    async with open_agent_bench(tmp_path, docker=docker, is_far=True) as agents:
        told = await agents.failure(agents.config("claude", [], image=WITH_PYTHON, relay=True))

    assert "relay: the workspace is on another machine, which cannot reach the relay" in told
