"""The real CLIs of agents with a scripted model: `make soak PART=agents` installs them and runs these tests."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from pitstop.debugger.session import Session
from pitstop.events.outcome import Outcome, Status
from pitstop.steps.agents.preparing import NO_KEY
from tests.agents.killed_server import end_of, kill, rerun, start_at_call
from tests.agents.model_server import ModelServer, Turn
from tests.agents.real_clis import CLIS, GATED, PROGRAMS, config, program, run_as_its_user, shell, told
from tests.containers import WITH_NODE, Docker
from tests.executors.processes import processes_with
from tests.leaks import Leaks
from tests.patience import wait_until
from tests.serving.test_commands import House
from tests.steps.agents.agent_bench import AgentBench, next_stop, open_agent_bench

DONE = Turn("All is done")
KEY = "sk-Zx91-correct-horse-battery-staple"
LEAKS = Leaks((KEY,))
every_agent = pytest.mark.parametrize("agent", CLIS)
every_gate = pytest.mark.parametrize("agent", GATED)


@pytest_asyncio.fixture
async def agents(tmp_path: Path) -> AsyncIterator[AgentBench]:
    async with open_agent_bench(tmp_path) as bench:
        yield bench


# --- Stops at tool calls ----------------------------------------------------------------------------------------------


@asynccontextmanager
async def debugging(
    agents: AgentBench, agent: str, *commands: str, **breakpoint: Any
) -> AsyncIterator[tuple[ModelServer, Session, "asyncio.Task[Outcome]"]]:
    """An agent whose model calls the shell with these commands, and a session that has this breakpoint."""
    async with (
        ModelServer([*shell(agent, *commands), DONE]) as model,
        agents.debugging(config(agent, model), **breakpoint) as (session, task),
    ):
        yield model, session, task


@every_gate
async def test_a_changed_command_is_what_runs_and_what_the_model_is_told_of(agents: AgentBench, agent: str) -> None:
    async with debugging(agents, agent, "echo one | tee made", tool="shell") as (model, session, task):
        stop = await next_stop(session)
        assert stop.scope["tool"]["command"] == "echo one | tee made"
        assert stop.scope["tool"]["guarantee"] is (agent == "claude")
        assert not (agents.repo / "made").exists()
        await session.override_config(stop, {"command": "echo two | tee made"})
        await session.continue_(stop)
        outcome = await task

    assert (outcome.status, outcome.outputs["text"]) == (Status.PASSED, DONE.text)
    assert (agents.repo / "made").read_text() == "two\n"
    assert "two" in told(model)
    assert "one" not in told(model)


@every_gate
async def test_a_refused_call_does_not_run_and_the_model_is_told_the_reason(agents: AgentBench, agent: str) -> None:
    commands = ("touch refused", "touch allowed")
    async with debugging(agents, agent, *commands, tool="shell", hits="== 1") as (model, session, task):
        await session.skip(await next_stop(session), message="ask me first")
        outcome = await task

    assert outcome.outputs["files"] == ["allowed"]
    assert "ask me first" in told(model)


@every_gate
async def test_a_call_can_be_given_a_result_instead(agents: AgentBench, agent: str) -> None:
    async with debugging(agents, agent, "touch made", tool="shell") as (model, session, task):
        await session.force(await next_stop(session), "passed", {"output": "it was there already"})
        outcome = await task

    assert outcome.outputs["files"] == []
    assert "it was there already" in told(model)


@every_gate
async def test_a_result_can_be_replaced(agents: AgentBench, agent: str) -> None:
    async with debugging(agents, agent, "echo 3 failed", tool="shell", position="after") as (model, session, task):
        stop = await next_stop(session)
        assert stop.outcome is not None
        assert "3 failed" in stop.outcome.outputs["output"]
        await session.force(stop, "passed", {"output": "none is broken"})
        await task

    assert "none is broken" in told(model)
    assert "3 failed" not in told(model)


# --- What a checkout cannot do ----------------------------------------------------------------------------------------


def plant(agents: AgentBench) -> Path:
    """Commit settings for every CLI, with hooks and servers that make the file which is returned."""
    mark = agents.repo.parent / "planted"
    hooks = [{"matcher": ".*", "hooks": [{"type": "command", "command": f"touch {mark}"}]}]
    server = {"planted": {"command": "touch", "args": [str(mark)]}}
    planted = {
        ".claude/settings.json": {"hooks": {"PreToolUse": hooks, "SessionStart": hooks}},
        ".mcp.json": {"mcpServers": server},
        ".codex/hooks.json": {"hooks": {"PreToolUse": hooks, "SessionStart": hooks}},
        "opencode.json": {"mcp": {"planted": {"type": "local", "command": ["touch", str(mark)], "enabled": True}}},
        ".gemini/settings.json": {"hooks": {"BeforeTool": hooks, "SessionStart": hooks}, "mcpServers": server},
    }
    for name, settings in planted.items():
        agents.write(name, json.dumps(settings))
    plugin = f"export const Planted = async ({{ $ }}) => {{ await $`touch {mark}`; return {{}} }}\n"
    agents.write(".opencode/plugin/planted.js", plugin)
    agents.write(".codex/config.toml", f'[mcp_servers.planted]\ncommand = "touch"\nargs = ["{mark}"]\n')
    agents.git("add", "-A")
    agents.git("commit", "--quiet", "--message=settings")
    return mark


@every_agent
async def test_hooks_and_servers_of_the_checkout_do_not_run(agents: AgentBench, agent: str, tmp_path: Path) -> None:
    mark = plant(agents)
    async with ModelServer([*shell(agent, "echo one"), DONE]) as model:
        assert (await agents.outputs(config(agent, model)))["text"] == DONE.text
    assert not mark.exists()

    async with ModelServer([*shell(agent, "echo one"), DONE]) as model:
        await run_as_its_user(agent, model, agents.repo, tmp_path / "home")
    assert mark.exists(), f"{agent} does not read the planted settings at all, so this test shows nothing"


@every_agent
async def test_commits_of_the_agent_become_one_commit_of_pitstop(agents: AgentBench, agent: str) -> None:
    identity = "git -c user.name=Agent -c user.email=agent@localhost"
    commit = f"echo one > made; git add made; {identity} commit --quiet --message=mine"
    async with ModelServer([*shell(agent, commit, "git checkout --quiet -b other; echo two >> made"), DONE]) as model:
        outputs = await agents.outputs(config(agent, model, commit=True))

    assert agents.git("log", "--format=%an %s").splitlines() == ["Pitstop Make it work", "Test first"]
    assert agents.git("show", f"{outputs['commit']}:made") == "one\ntwo\n"
    assert agents.git("status", "--porcelain") == ""


# --- Budgets, sessions and the end ------------------------------------------------------------------------------------


@every_agent
async def test_a_budget_of_tokens_ends_the_agent_before_the_next_request(agents: AgentBench, agent: str) -> None:
    async with ModelServer([*shell(agent, "echo one", "echo two", "echo three"), DONE]) as model:
        failure = await agents.failure(config(agent, model, budget={"tokens": 150}))

    assert failure.startswith("BudgetExceeded: ")
    assert all(word in failure for word in ("150", "220", "`budget.tokens`"))
    assert len([request for request in model.all_requests if request.api]) == 2  # with one for a title


@every_agent
async def test_a_session_is_continued_with_the_whole_conversation(agents: AgentBench, agent: str) -> None:
    async with ModelServer([*shell(agent, "echo a-result"), Turn("The door is blue"), DONE]) as model:
        first = await agents.outputs(config(agent, model, prompt="Which color has the door?"))
        second = await agents.outputs(config(agent, model, session="continue"), path="again")

    conversation = json.dumps(model.requests[-1].body)
    assert all(text in conversation for text in ("Which color has the door?", "a-result", "The door is blue"))
    assert first["session"] == second["session"]


@every_agent
async def test_a_cancelled_agent_leaves_no_process(agents: AgentBench, agent: str) -> None:
    mark = f"HOME={agents.bench.workspace.home}"
    leave = "setsid sleep 1000 & echo $! > left; sleep 1000"
    async with ModelServer(shell(agent, leave)) as model, asyncio.TaskGroup() as group:
        task = group.create_task(agents.run(config(agent, model)))
        await wait_until((agents.repo / "left").exists)
        assert any("sleep" in line for line in processes_with(mark).values())
        task.cancel()

    assert task.cancelled()
    assert processes_with(mark) == {}


# --- Containers -------------------------------------------------------------------------------------------------------


def link_tree(source: Path, target: Path) -> None:
    subprocess.run(["cp", "--archive", "--link", source, target], check=True)


@every_gate
async def test_in_a_container_calls_are_held_and_the_key_stays_outside(
    docker: Docker, tmp_path: Path, agent: str
) -> None:
    docker.make_image_with_node()
    async with open_agent_bench(tmp_path, docker=docker) as agents:
        programs = Path(agents.bench.workspace.home) / "node_modules"  # which has the same path in the container
        await asyncio.to_thread(link_tree, PROGRAMS.parent, programs)
        command, turns = [str(programs / ".bin" / agent)], shell(agent, "echo one > made", "env > environment")
        async with (
            ModelServer([*turns, DONE]) as model,
            agents.debugging(
                config(agent, model, command=command, image=WITH_NODE, network="model"), tool="shell", hits="== 1"
            ) as (session, task),
        ):
            stop = await next_stop(session)
            await session.override_config(stop, {"command": "echo two > made"})
            await session.continue_(stop)
            outcome = await task

        assert outcome.status is Status.PASSED, outcome.error
        assert (agents.repo / "made").read_text() == "two\n"
        assert f"{CLIS[agent].secret}={NO_KEY}" in (agents.repo / "environment").read_text()
        assert outcome.outputs["tokens"]["in"] == model.input_tokens


# --- A real server ----------------------------------------------------------------------------------------------------


async def test_the_key_is_in_requests_to_the_model_and_nowhere_else(tmp_path: Path) -> None:
    """Not in a process, nor in a file of the workspace, the agent's home, the run or the database, nor in an answer."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    async with AsyncExitStack() as stack:
        turns = {agent: [*shell(agent, "env", "cat /proc/$PPID/environ"), DONE] for agent in GATED}
        models = {agent: await stack.enter_async_context(ModelServer(turns[agent])) for agent in GATED}
        with House(tmp_path, command="serve", TMPDIR=str(temporary)).open() as house:
            await asyncio.to_thread(look_for_key, house, models)

    assert LEAKS.found_in((house.said + house.complained).encode()) == []
    for model in models.values():
        assert len(model.requests) == 3
        assert all(KEY in str(request.headers) for request in model.requests)
        assert LEAKS.found_in(json.dumps([request.body for request in model.all_requests]).encode()) == []


def look_for_key(house: House, models: Mapping[str, ModelServer]) -> None:
    """While the agents are held at their second calls, and when they have ended."""
    runs = {}
    for agent, model in models.items():
        assert house.ask("PUT", f"/secrets/{CLIS[agent].secret}", json={"value": KEY}).status_code == 204
        step = {"id": "fix", "agent": config(agent, model)}
        runs[agent] = start_at_call(house, step, 2, secrets=[CLIS[agent].secret])
    at_work = " ".join(processes_with(f"HOME={house.state}").values())
    assert all(program(agent) in at_work for agent in GATED)
    assert processes_with(KEY) == {}
    assert leaking_files(house.home) == {}
    for run in runs.values():
        house.ask("POST", f"/runs/{run}/debug/continue", json={"all": True})
        info, events = end_of(house, run)
        assert info["status"] == "passed", info["error"]
        log = house.ask("GET", f"/runs/{run}/log", params={"occurrence": "fix"}).text
        assert LEAKS.found_in(json.dumps([info, events]).encode() + log.encode()) == []
    assert leaking_files(house.home) == {}


def leaking_files(folder: Path) -> dict[Path, list[bytes]]:
    leaks = {}
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # some are removed at any moment
            leaks[path] = LEAKS.found_in(path.read_bytes()) if path.is_file() else []
    return {path: found for path, found in leaks.items() if found}


@every_gate
async def test_a_call_that_is_held_when_the_server_is_killed_never_runs(tmp_path: Path, agent: str) -> None:
    made, temporary = tmp_path / "made", tmp_path / "temporary"
    temporary.mkdir()
    house = House(tmp_path, command="serve", TMPDIR=str(temporary))  # a server that is killed removes nothing there
    turns = shell(agent, "true", f"touch {made}", f"touch {made}")  # the last is for the second run
    async with ModelServer([*turns, DONE]) as model:
        step = {"id": "fix", "agent": config(agent, model)}
        await asyncio.to_thread(kill_at_call, house, step, CLIS[agent].secret, made)

    assert made.exists()


def kill_at_call(house: House, step: Mapping[str, Any], secret: str, made: Path) -> None:
    """Kill the server at the second call of the agent, look at what the next one says, and run it again there."""
    with house.open():
        house.ask("PUT", f"/secrets/{secret}", json={"value": KEY})
        run = start_at_call(house, step, 2, secrets=[secret])
        kill(house)
    assert not made.exists()
    with house.open():
        info, events = end_of(house, run)
        assert (info["status"], info["stops"]) == ("failed", [])
        assert f"call 2 (shell: touch {made}) was held at that time and did not run" in info["error"]
        assert [event["stop"] for event in events if event["kind"] == "debug.stop_ended"] == [1]
        assert not made.exists()
        rerun(house, run)
