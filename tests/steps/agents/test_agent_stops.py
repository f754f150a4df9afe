"""Stops at the tool calls of agents: held, changed, refused and given a result, on every CLI that has a gate."""

import asyncio
import os
import signal
from typing import Any

import pytest

from pitstop.debugger.session import Session
from pitstop.events.outcome import Status
from pitstop.events.types import StopEnded
from tests.patience import wait_until
from tests.steps.agents.agent_bench import GATED, AgentBench, next_stop, processes_with

REMOVE = {"tool": "shell", "command": "touch removed"}
LIST = {"tool": "shell", "command": "echo one"}
every_gate = pytest.mark.parametrize("agent", GATED)


@every_gate
async def test_a_changed_command_is_what_runs(agents: AgentBench, agent: str) -> None:
    async with agents.debugging(agents.config(agent, [REMOVE]), tool="shell") as (session, task):
        stop = await next_stop(session)
        assert stop.scope["tool"]["command"] == "touch removed"
        assert stop.scope["tool"]["guarantee"] is (agent == "claude")
        assert not (agents.repo / "removed").exists()
        await session.override_config(stop, {"command": "touch changed"})
        await session.continue_(stop)
        outcome = await task

    assert outcome.outputs["files"] == ["changed"]
    assert agents.notes("agent.edited") == [{"call": "1", "input": {"command": "touch changed"}}]
    assert [each["call"] for each in agents.notes("agent.returned")] == ["1"]


@every_gate
async def test_a_refused_call_does_not_run_and_the_model_is_told_the_reason(agents: AgentBench, agent: str) -> None:
    async with agents.debugging(agents.config(agent, [REMOVE, LIST]), tool="shell", hits="== 1") as (session, task):
        await session.skip(await next_stop(session), message="ask me first")
        outcome = await task

    assert outcome.status is Status.PASSED
    assert not (agents.repo / "removed").exists()
    assert "ask me first" in agents.calls[0]["told"]
    assert agents.notes("agent.refused") == [{"call": "1", "reason": "ask me first", "by": "user"}]
    assert [each["how"] for each in agents.calls] == ["refused", "ran"]


@every_gate
async def test_a_call_can_be_given_a_result_instead(agents: AgentBench, agent: str) -> None:
    async with agents.debugging(agents.config(agent, [REMOVE]), tool="shell") as (session, task):
        await session.force(await next_stop(session), "passed", {"output": "it is removed"})
        await task

    assert "it is removed" in agents.calls[0]["told"]
    assert not (agents.repo / "removed").exists()


@every_gate
async def test_a_result_can_be_looked_at_and_replaced(agents: AgentBench, agent: str) -> None:
    async with agents.debugging(agents.config(agent, [LIST]), tool="shell", position="after") as (session, task):
        stop = await next_stop(session)
        assert stop.outcome is not None
        assert "one" in stop.outcome.outputs["output"]
        await session.force(stop, "passed", {"output": "two"})
        await task

    assert agents.calls[0]["told"] == "two"


async def test_a_failed_call_stops_at_its_failure(agents: AgentBench) -> None:
    failing = {"tool": "shell", "command": "echo broken; exit 3"}
    async with agents.debugging(agents.config("claude", [failing]), tool="shell", position="error") as (session, task):
        stop = await next_stop(session)
        assert stop.outcome is not None
        assert "broken" in str(stop.outcome.error)
        await session.continue_(stop)
        assert (await task).status is Status.PASSED


@every_gate
async def test_stepping_goes_from_call_to_call_and_out_of_the_agent(agents: AgentBench, agent: str) -> None:
    async with agents.debugging(agents.config(agent, [LIST, REMOVE, LIST]), tool="any", hits="== 1") as (session, task):
        await session.step_over(await next_stop(session))
        second = await next_stop(session)
        assert (second.occurrence, second.reasons) == ("fix/2", ("step",))
        await session.step_out(second)
        assert (await task).status is Status.PASSED


async def test_a_step_can_be_injected_while_the_agent_waits(agents: AgentBench) -> None:
    async with agents.debugging(agents.config("claude", [REMOVE]), tool="shell") as (session, task):
        stop = await next_stop(session)
        await session.inject(stop, {"uses": "run", "with": {"script": "touch injected"}})
        await session.continue_(stop)
        assert (await task).outputs["files"] == ["injected", "removed"]


async def test_a_subagents_calls_are_under_the_call_that_started_it(agents: AgentBench) -> None:
    steps: list[dict[str, Any]] = [{"tool": "task", "steps": [LIST, REMOVE]}, LIST]
    async with agents.debugging(agents.config("claude", steps), tool="task") as (session, task):
        stop = await next_stop(session)
        assert stop.occurrence == "fix/1"
        await session.step_into(stop)
        inner = await next_stop(session)
        assert inner.occurrence == "fix/1/1"
        assert inner.scope["tool"]["parent"] == "1"
        await session.step_out(inner)
        assert (await next_stop(session)).occurrence == "fix/2"
        await session.continue_all()
        await task


@every_gate
async def test_two_calls_at_once_are_held_one_after_the_other(agents: AgentBench, agent: str) -> None:
    steps = [{"parallel": [REMOVE, LIST]}]
    async with agents.debugging(agents.config(agent, steps), tool="any") as (session, task):
        first = await next_stop(session)
        assert len(session.stops) == 1
        await session.skip(first, message="not now")
        await session.continue_(await next_stop(session))
        assert (await task).status is Status.PASSED

    assert sorted(each["how"] for each in agents.calls) == ["ran", "refused"]


async def test_going_back_to_before_the_agent_ends_it_and_starts_it_again(agents: AgentBench) -> None:
    async with agents.debugging(agents.config("claude", [LIST, REMOVE]), tool="any", hits="== 2") as (session, task):
        stop = await next_stop(session)
        await session.step_back(stop)
        again = await next_stop(session)
        assert (again.occurrence, again.position) == ("fix", "before")
        await session.continue_(again)
        assert (await task).outputs["files"] == ["removed"]


async def test_aborting_at_a_held_call_ends_the_agent_and_the_call_never_runs(agents: AgentBench) -> None:
    session = Session()
    session.add_breakpoint(tool="any")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(agents.run(agents.config("codex", [REMOVE]), session))
        await next_stop(session)
        task.cancel()

    assert not (agents.repo / "removed").exists()


@pytest.mark.parametrize("agent", ["codex", "gemini"])
async def test_a_gate_process_that_is_killed_ends_the_agent_before_the_call_runs(
    agents: AgentBench, agent: str
) -> None:
    async with agents.debugging(agents.config(agent, [REMOVE]), tool="any") as (session, task):
        await next_stop(session)
        await wait_until(lambda: bool(doormen(agents)))
        for pid in doormen(agents):
            os.kill(pid, signal.SIGKILL)
        outcome = await task

    assert f"{agent} was ended: the process that passes its hooks on ended" in str(outcome.error)
    assert not (agents.repo / "removed").exists()
    assert [event.reason for event in agents.log.read() if isinstance(event, StopEnded)]


@pytest.mark.parametrize("agent", ["codex", "gemini"])
async def test_a_call_that_runs_because_its_hook_was_killed_ends_the_agent(agents: AgentBench, agent: str) -> None:
    async with agents.debugging(agents.config(agent, [REMOVE, {"say": "done"}]), tool="any") as (session, task):
        await next_stop(session)
        for pid in processes_with(agents.bench.workspace.control, "/hook before"):
            os.kill(pid, signal.SIGKILL)
        outcome = await task

    assert f"{agent} was ended: it made call 1 (shell: touch removed) while its gate held it" in str(outcome.error)


async def test_an_agent_that_dies_at_a_held_call_ends_the_stop(agents: AgentBench) -> None:
    steps: list[dict[str, Any]] = [
        {"parallel": [REMOVE, {"tool": "shell", "command": "kill -9 $PPID", "ungated": True}]}
    ]
    async with agents.debugging(agents.config("claude", steps), tool="any") as (_, task):
        outcome = await task

    assert "claude failed" in str(outcome.error)
    assert not (agents.repo / "removed").exists()


def doormen(agents: AgentBench) -> list[int]:
    """The processes that pass hooks on: they are the ones with the gate's folder in their environment."""
    return processes_with(f"GATE={agents.bench.workspace.control}", file="environ")
