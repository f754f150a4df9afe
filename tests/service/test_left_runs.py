"""Runs that outlive the process they began in: each service here is what another process would have."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pitstop.app import new_executor
from pitstop.engine.executor import Placement
from pitstop.errors import CommandRefused, InAnotherProcess, NotEnded, NotRunning, RunLeft, Unavailable
from pitstop.runs import local_runs
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import Debugger, StopInfo, verbs
from pitstop.service.desks import Service
from pitstop.service.runs import ActiveRun, BreakpointRequest, DebugRequest, RunQuery
from pitstop.store import folder_records
from pitstop.store.folder import FolderStore
from pitstop.store.port import RunRecord
from tests.contracts.service_desk import next_stop, wait_for
from tests.service.desk import Desk

REPAIRED = """\
    name: shop
    steps:
      - {id: build, run: echo built >> built.txt}
      - parallel:
          - {id: lint, run: 'until test -e go; do sleep 0.01; done; echo linted >> linted.txt'}
          - {id: tests, run: test -e repaired}
    cleanup:
      - {id: tidy, run: touch tidied}
    """
FAILING = "steps: [{id: bad, run: test -e repaired}]\ncleanup: [{id: tidy, run: touch tidied}]"
ON_ERROR = DebugRequest(stop_on_error=True)


async def leave_at_failure(desk: Desk, text: str = FAILING, **options: object) -> tuple[str, StopInfo]:
    """A run that is left at its first stop, and that stop."""
    async with desk.start(desk.write(text), **{"debug": ON_ERROR, **options}) as run:
        stop = await next_stop(desk.opened, run)
        await desk.opened.runs.leave(LOCAL, run.id)
        return run.id, stop


@asynccontextmanager
async def taken_up(desk: Desk, name: str, **secrets: str) -> AsyncIterator[tuple[Service, ActiveRun, Debugger]]:
    async with desk.service as service:
        run = await service.runs.take_up(LOCAL, name, secrets)
        yield service, run, Debugger(service.debugging, LOCAL, run.id)


async def status_of(desk: Desk, run: str) -> tuple[str, str | None]:
    async with desk.service as service:
        info = await (await service.runs.get(LOCAL, run)).info()
        return info.status, info.error


def workspaces(desk: Desk) -> list[str]:
    folder = desk.settings.workspaces
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.exists() else []


async def test_a_run_that_was_left_is_as_it_was_when_it_is_taken_up(desk: Desk) -> None:
    async with desk.start(desk.write(REPAIRED), debug=ON_ERROR) as run:
        stop = await next_stop(desk.opened, run)
        debugger = desk.debugger(run)
        await debugger.say(BreakpointRequest(step="tidy", note="look"))
        await debugger.say(verbs.Watch(".vars"))
        await debugger.say(verbs.Set(stop.id, ".vars.tried", 1))
        await desk.opened.runs.leave(LOCAL, run.id)
    assert await status_of(desk, run.id) == ("paused", f"paused at {stop.occurrence} (stop {stop.id})")
    assert not (desk.folder / "tidied").exists()

    async with taken_up(desk, run.id) as (service, again, debugger):
        state = await debugger.say(verbs.State())
        assert (again.id, [each.id for each in state.stops]) == (run.id, [stop.id])
        assert [each.request.note for each in state.breakpoints if each.request.step] == ["look"]
        assert (await debugger.say(verbs.Scope(stop.id))).scope["vars"] == {"tried": 1}
        assert state.watches == (".vars",)
        (desk.folder / "repaired").touch()
        (desk.folder / "go").touch()
        await debugger.say(verbs.Retry(stop.id))
        cleanup = await next_stop(service, again)
        assert cleanup.step == "tidy"
        await debugger.say(verbs.Continue(cleanup.id))
        summary = await again.wait()

    assert (summary.status, summary.intervened) == ("passed", True)
    assert (desk.folder / "built.txt").read_text() == "built\n"
    assert (desk.folder / "linted.txt").read_text() == "linted\n"  # it was interrupted, and has run again
    assert workspaces(desk) == []


async def test_a_workspace_of_its_own_is_kept_until_the_run_has_ended(desk: Desk) -> None:
    flow = """\
        steps:
          - {id: made, run: echo 1 > made.txt}
          - {id: apart, workspace: fresh, run: 'test -e here || { touch here; exit 1; }'}
          - {id: seen, run: cat made.txt}
        """
    run, stop = await leave_at_failure(desk, flow, folder=None)
    assert [name.partition("-fresh-")[0] for name in workspaces(desk)] == [run, run]

    async with taken_up(desk, run) as (_, again, debugger):
        await debugger.say(verbs.Retry(stop.id))
        assert (await again.wait()).status == "passed"

    assert workspaces(desk) == []


async def test_a_run_is_left_only_where_it_is_paused(desk: Desk) -> None:
    async with desk.start(desk.write("steps: [{id: a, run: cat fifo}]")) as run:
        await wait_for(run, "step.started")
        with pytest.raises(CommandRefused, match="is not paused, so it cannot be left"):
            await desk.opened.runs.leave(LOCAL, run.id)
        await desk.opened.runs.cancel(LOCAL, run.id, "enough")
        await run.wait()
        with pytest.raises(NotRunning):
            await desk.opened.runs.leave(LOCAL, run.id)


async def test_what_is_not_stored_cannot_be_left(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    async with desk.start(desk.write(FAILING), debug=ON_ERROR) as run:
        await next_stop(desk.opened, run)
        kept = run.kept  # type: ignore[attr-defined]
        monkeypatch.setattr(kept, "problem", "the disk is full")
        with pytest.raises(CommandRefused, match="cannot be left: the disk is full"):
            await desk.opened.runs.leave(LOCAL, run.id)


async def test_of_two_processes_one_takes_a_run_up(desk: Desk) -> None:
    run, stop = await leave_at_failure(desk)

    async with taken_up(desk, run) as (service, again, _), desk.service as other:
        assert await service.runs.take_up(LOCAL, run, {}) is again
        for refused in (other.runs.take_up(LOCAL, run, {}), other.runs.leave(LOCAL, run)):
            with pytest.raises(InAnotherProcess):
                await refused
        await service.runs.leave(LOCAL, run)

        with pytest.raises(RunLeft, match=f"debug {run}"):
            await Debugger(other.debugging, LOCAL, run).say(verbs.Retry(stop.id))
        await other.runs.leave(LOCAL, run)  # which changes nothing


async def test_a_client_that_fails_leaves_the_run_that_it_took_up(desk: Desk) -> None:
    run, _ = await leave_at_failure(desk)

    async with taken_up(desk, run):
        pass

    assert (await status_of(desk, run))[0] == "paused"
    assert not (desk.folder / "tidied").exists()


async def test_a_run_whose_folder_is_away_can_be_taken_up_when_it_is_back(desk: Desk) -> None:
    run, stop = await leave_at_failure(desk)
    desk.folder.rename(desk.folder.with_name("away"))

    async with desk.service as service:
        with pytest.raises(Unavailable, match="is not a folder"):
            await service.runs.take_up(LOCAL, run, {})
        desk.folder.with_name("away").rename(desk.folder)
        again = await service.runs.take_up(LOCAL, run, {})
        assert (await next_stop(service, again)).id == stop.id


async def test_a_run_without_its_workspace_is_not_taken_up(desk: Desk) -> None:
    run, _ = await leave_at_failure(desk, folder=None)
    executor = new_executor(desk.settings)
    await executor.remove_workspace(run)
    await executor.close()

    async with desk.service as service:
        with pytest.raises(NotRunning):
            await service.runs.take_up(LOCAL, run, {})


async def test_secrets_are_given_again(desk: Desk) -> None:
    flow = "steps: [{id: login, secrets: [KEY], run: 'echo $KEY > key.txt; test -e repaired'}]"
    run, stop = await leave_at_failure(desk, flow, secrets={"KEY": "s3cret-key"})
    stored = [path.read_bytes() for path in (desk.settings.runs / run).rglob("*") if path.is_file()]
    assert not any(b"s3cret-key" in text for text in stored)

    async with taken_up(desk, run) as (service, again, debugger):
        await debugger.say(verbs.Retry(stop.id))
        without = await next_stop(service, again)
        assert (desk.folder / "key.txt").read_text() == "\n"
        await service.runs.leave(LOCAL, run)
    (desk.folder / "repaired").touch()
    async with taken_up(desk, run, KEY="s3cret-key") as (_, again, debugger):
        await debugger.say(verbs.Retry(without.id))
        assert (await again.wait()).status == "passed"

    assert (desk.folder / "key.txt").read_text() == "s3cret-key\n"


async def test_a_stop_that_was_left_for_long_has_its_time_again(desk: Desk) -> None:
    run, stop = await leave_at_failure(desk)
    log = desk.settings.runs / run / "events.jsonl"
    events = [json.loads(line) for line in log.read_text().splitlines()]
    log.write_text("".join(json.dumps({**event, "at": event["at"] - 86400}) + "\n" for event in events))

    async with taken_up(desk, run) as (_, _, debugger):
        (back,) = (await debugger.say(verbs.State())).stops
        assert 240 < (back.lease_ends_at or 0) - time.time() < 360
        await debugger.say(verbs.Extend(3600.0))
        (back,) = (await debugger.say(verbs.State())).stops
        assert (back.id, (back.lease_ends_at or 0) - time.time() > 3500) == (stop.id, True)


async def test_a_run_that_was_left_can_be_cancelled_and_cleans_up(desk: Desk) -> None:
    run, _ = await leave_at_failure(desk)

    async with desk.service as service:
        with pytest.raises(NotEnded):
            await service.runs.delete(LOCAL, run)
        await service.runs.cancel(LOCAL, run, "not wanted")
        summary = await (await service.runs.get(LOCAL, run)).wait()

    assert (summary.status, (desk.folder / "tidied").exists()) == ("cancelled", True)
    assert (await status_of(desk, run))[0] == "cancelled"
    assert workspaces(desk) == []


async def test_one_that_is_killed_or_cannot_be_taken_up_is_only_recorded(desk: Desk) -> None:
    killed, _ = await leave_at_failure(desk)
    away, _ = await leave_at_failure(desk)

    async with desk.service as service:
        await service.runs.kill(LOCAL, killed)
        desk.folder.rename(desk.folder.with_name("away"))
        await service.runs.cancel(LOCAL, away, "not wanted")
        ends = [event.kind async for event in (await service.runs.get(LOCAL, away)).events()]

    assert [await status_of(desk, run) for run in (killed, away)] == [
        ("cancelled", "killed"),
        ("cancelled", "not wanted"),
    ]
    assert ends[-1] == "run.ended"
    assert workspaces(desk) == []


async def test_only_the_newest_runs_stay_left(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_runs, "MOST_LEFT", 2)
    runs = [(await leave_at_failure(desk))[0]]
    async with desk.service as service:
        await service.runs.pin(LOCAL, runs[0])
    runs += [(await leave_at_failure(desk))[0] for _ in range(3)]

    states = [await status_of(desk, run) for run in runs]
    assert [status for status, _ in states] == ["paused", "cancelled", "paused", "paused"]
    assert "it was left paused, and only the newest" in (states[1][1] or "")
    assert runs[1] not in workspaces(desk)


async def killed(desk: Desk, name: str) -> None:
    """A run whose process is gone without a word, with its workspace."""
    record = RunRecord(id=name, flow="shop", file="f", created_at=1.0, status="running", workspace=name)
    await (await FolderStore(desk.settings.home).create(record)).close()
    executor = new_executor(desk.settings)
    await executor.acquire(Placement(workspace=name))
    await executor.close(keep=True)


async def test_old_runs_are_forgotten_with_their_workspaces_but_not_those_that_were_left(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_records, "KEPT_RUNS", 1)
    await killed(desk, "00000000-000000-killed")
    left, _ = await leave_at_failure(desk)

    await desk.run(desk.write("steps: [{id: a, sleep: 0s}]"))

    async with desk.service as service:
        found = [run.status for run in (await service.runs.list(LOCAL, RunQuery())).runs]
    assert sorted(found) == ["passed", "paused"]
    assert workspaces(desk) == [left]


async def test_a_run_that_was_killed_says_how_to_resume_it_and_is_deleted_with_its_workspace(desk: Desk) -> None:
    await killed(desk, "r1")

    status, error = await status_of(desk, "r1")
    assert (status, (error or "").endswith("debug r1` resumes it")) == ("cancelled", True)
    async with desk.service as service:
        await service.runs.delete(LOCAL, "r1")
    assert workspaces(desk) == []
