"""What the desks decide for every door: who may do what, and what the audit log has of it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from pitstop.app import open_service
from pitstop.errors import CommandRefused, NotPermitted
from pitstop.service.audit import Audit
from pitstop.service.caller import Caller
from pitstop.service.debugging import verbs
from pitstop.service.desks import Service
from pitstop.service.in_memory import MemoryAudit
from pitstop.service.runs import BreakpointRequest, DebugRequest, RerunRequest, RunQuery, RunRequest
from pitstop.settings import Settings
from tests.contracts.service_desk import next_stop
from tests.service.test_audit import SlowAudit

ANN, GUEST = Caller("ann", "operator"), Caller("guest", "viewer")
FLOW = "steps: [{id: a, run: 'true'}]"

Act = Callable[[Service, str], Coroutine[Any, Any, object]]
ACTS: dict[str, Act] = {
    "start": lambda service, run: service.runs.start(GUEST, RunRequest(flow="f.yaml", text=FLOW)),
    "rerun": lambda service, run: service.runs.rerun(GUEST, run, RerunRequest()),
    "pin": lambda service, run: service.runs.pin(GUEST, run),
    "delete": lambda service, run: service.runs.delete(GUEST, run),
    "answer": lambda service, run: service.runs.answer(GUEST, run, "a", approved=True),
    "cancel": lambda service, run: service.runs.cancel(GUEST, run, "enough"),
    "kill": lambda service, run: service.runs.kill(GUEST, run),
    "continue": lambda service, run: service.debugging.say(GUEST, run, verbs.Continue(1)),
    "evaluate": lambda service, run: service.debugging.say(GUEST, run, verbs.Evaluate(".vars", 1)),
    "shell": lambda service, run: service.workspaces.shell(GUEST, run, 1),
    "store_breakpoints": lambda service, run: service.flows.store_breakpoints(GUEST, "f.yaml", []),
}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with open_service(Settings(tmp_path), audit=Audit(MemoryAudit())) as opened:
        yield opened


async def paused_run(service: Service, **more: Any) -> str:
    debug = DebugRequest(stop_at_entry=True, lease_seconds=60.0)
    run = await service.runs.start(ANN, RunRequest(flow="f.yaml", text=FLOW, debug=debug, **more))
    assert (await next_stop(service, run)).id == 1
    return run.id


async def entries(service: Service) -> list[tuple[str, str, str | None, Any]]:
    assert service.audit is not None
    return [(each.who, each.action, each.run, each.detail) for each in (await service.audit.page()).entries][::-1]


async def test_a_run_begins_when_its_start_is_recorded(tmp_path: Path) -> None:
    audit, heard = SlowAudit(), []
    request = RunRequest(flow="f.yaml", text="steps: [{id: a, run: echo hello}]")
    async with open_service(Settings(tmp_path), audit=Audit(audit)) as service, asyncio.TaskGroup() as group:
        starting = group.create_task(service.runs.start(ANN, request))
        await audit.asked.wait()
        (info,) = (await service.runs.list(ANN, RunQuery())).runs
        assert (await (await service.runs.get(ANN, info.id)).info()).last_event == 0
        audit.goes_on.set()
        run = await starting
        run.hear_output(lambda output: heard.append(output.data))
        await run.wait()
    assert b"".join(heard) == b"hello\n"


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
async def test_a_viewer_changes_nothing(service: Service, act: Act) -> None:
    run = await paused_run(service)

    with pytest.raises(NotPermitted):
        await act(service, run)

    assert [action for _, action, _, _ in await entries(service)] == ["start_run"]
    assert [each.status for each in (await service.runs.list(GUEST, RunQuery())).runs] == ["paused"]
    await service.runs.kill(ANN, run)


async def test_a_viewer_may_look_and_that_is_not_recorded(service: Service) -> None:
    run = await paused_run(service)

    assert (await (await service.runs.get(GUEST, run)).info()).status == "paused"
    assert [stop.id for stop in (await service.debugging.say(GUEST, run, verbs.State())).stops] == [1]
    assert (await service.debugging.say(GUEST, run, verbs.Scope(1))).scope["vars"] == {}
    assert (await service.flows.check(GUEST, "f.yaml", FLOW)).steps[0].path == "a"
    await service.debugging.say(ANN, run, verbs.Evaluate(".vars", 1))

    assert [action for _, action, _, _ in await entries(service)] == ["start_run"]
    await service.runs.kill(ANN, run)


async def test_what_was_done_is_recorded_with_who_did_it_and_without_values(service: Service) -> None:
    run = await paused_run(service, inputs={}, secrets={"KEY": "value-of-key"})
    await service.debugging.say(ANN, run, verbs.Set(1, ".vars.x", "value-of-x"))
    added = await service.debugging.say(ANN, run, BreakpointRequest(step="a", group="slow"))
    await service.debugging.say(ANN, run, verbs.RemoveBreakpoint(added.id))
    with pytest.raises(CommandRefused):
        await service.debugging.say(ANN, run, verbs.Continue(99))
    await (await service.workspaces.shell(ANN, run, 1, mode="sidecar")).close()
    await service.runs.pin(ANN, run, pinned=False)
    await service.runs.cancel(ANN, run, "enough")
    await (await service.runs.get(ANN, run)).wait()
    again = await service.runs.rerun(ANN, run, RerunRequest(from_step="a"))
    await again.wait()
    await service.runs.delete(ANN, run)
    await service.flows.store_breakpoints(ANN, "f.yaml", [BreakpointRequest(step="a")])

    assert await entries(service) == [
        ("ann", "start_run", run, {"flow": "f.yaml", "secrets": ["KEY"]}),
        ("ann", "debug_set", run, {"stop": 1, "path": ".vars.x"}),
        ("ann", "add_breakpoint", run, {"step": "a", "group": "slow"}),
        ("ann", "remove_breakpoint", run, {"breakpoint": added.id}),
        ("ann", "open_shell", run, {"stop": 1, "mode": "sidecar"}),
        ("ann", "pin_run", run, {"pinned": False}),
        ("ann", "cancel_run", run, {"reason": "enough"}),
        ("ann", "rerun", run, {"from_step": "a"}),
        ("ann", "delete_run", run, {}),
        ("ann", "keep_flow_breakpoints", None, {"name": "f.yaml"}),
    ]
