"""The service of a server: runs that outlive those who asked for them, and the server itself."""

import asyncio
import subprocess
import textwrap
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pitstop.app import open_server_service
from pitstop.engine.clock import SystemClock
from pitstop.engine.executor import Placement
from pitstop.engine.ports import Clock
from pitstop.errors import LogLost, NotRunning, StoreUnavailable, Unavailable, UnknownRun
from pitstop.events.types import RunStarted
from pitstop.runs.live_run import LiveRun
from pitstop.runs.server_runs import BEATS_PER_LEASE, BEGIN_SECONDS, ServerOptions, ServerRuns
from pitstop.service.audit import Deed
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import verbs
from pitstop.service.desks import Service
from pitstop.service.local.server import ServerService
from pitstop.service.runs import (
    ENDED,
    ActiveRun,
    BreakpointRequest,
    DebugRequest,
    RerunRequest,
    RunQuery,
    RunRequest,
    RunStatus,
)
from pitstop.service.sealing import read_seal
from pitstop.service.secrets import Secrets
from pitstop.service.step_views import events_so_far
from pitstop.service.stored.audit import StoredAudit
from pitstop.service.stored.secrets import StoredSecrets
from pitstop.settings import Settings
from pitstop.store.sql.run import SqlRun
from pitstop.store.sql.store import SqlStore, open_sql_store
from tests.executors.leases import lapse
from tests.moved_clock import MovedClock
from tests.patience import PATIENCE_SECONDS, wait_here_until, wait_until

WAITS = """
    name: waits
    steps:
      - {id: first, run: echo first >> done.txt}
      - {id: second, run: "echo second >> done.txt; while [ ! -e go ]; do sleep 0.02; done"}
      - {id: third, run: echo third >> done.txt}
"""
LEASE_SECONDS = 600.0  # a slow test does not lose its runs
CHORES = 2  # of a server, which wait for its clock
BEAT_SECONDS = LEASE_SECONDS / BEATS_PER_LEASE
GIT_USER = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.com")


class Server:
    """A server with a state of its own, which can be opened again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        self.settings = Settings(folder / "state")

    @asynccontextmanager
    async def open(
        self,
        *,
        slots: int = 4,
        drain_seconds: float = 0.0,
        flow_folders: Sequence[Path] = (),
        clock: Clock | None = None,
        database_time: MovedClock | None = None,
    ) -> AsyncIterator[ServerService]:
        self.settings.home.mkdir(exist_ok=True)
        store = await open_sql_store(
            self.settings.database, None if database_time is None else database_time.in_database
        )
        options = ServerOptions(slots=slots, drain_seconds=drain_seconds, lease_seconds=LEASE_SECONDS)
        seal = read_seal(self.settings.key_file)
        self.secrets = Secrets(StoredSecrets(store.database), seal)
        opening = open_server_service(self.settings, store, seal, options, self.secrets, flow_folders, clock=clock)
        async with opening as service:
            yield service

    def request(self, text: str, **more: object) -> RunRequest:
        return RunRequest(flow="flow.yaml", text=textwrap.dedent(text), folder=str(self.folder), **more)  # type: ignore[arg-type]

    def done(self) -> list[str]:
        file = self.folder / "done.txt"
        return file.read_text().split() if file.exists() else []


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


async def test_a_run_goes_on_without_whoever_started_it_and_is_kept(server: Server) -> None:
    async with server.open() as service:
        started = await service.runs.start(LOCAL, server.request("steps: [{id: a, run: echo hello}]"))
        summary = await started.wait()

    async with server.open() as service:
        run = await service.runs.get(LOCAL, started.id)
        info = await run.info()
        page = await run.log("a")

    assert (summary.error, summary.status, info.status) == (None, "passed", "passed")
    assert [line.text for line in page.lines] == ["hello"]


async def test_a_step_that_waits_for_approval_points_to_the_browser(server: Server) -> None:
    async with server.open() as service:
        run = await service.runs.start(LOCAL, server.request("steps: [{id: ask, approve: Ship it?}]", can_ask=True))
        await wait_until(run.questions)
        await service.runs.answer(LOCAL, run.id, "ask", approved=True)
        await run.wait()

        assert (await log_of(run, "ask"))[1].startswith("approve or reject it in the browser")


async def test_a_run_that_was_left_goes_on_in_the_next_server_since_its_start_and_repeats_no_finished_step(
    server: Server,
) -> None:
    async with server.open() as service:
        started = await service.runs.start(LOCAL, server.request(WAITS))
        await wait_until(lambda: server.done() == ["first", "second"])
        began_at = (await started.info()).started_at

    async with server.open() as service:
        run = await service.runs.get(LOCAL, started.id)
        await wait_until(lambda: server.done() == ["first", "second", "second"])
        assert (await run.info()).started_at == began_at
        (server.folder / "go").touch()
        summary = await run.wait()
        first, *_, last = [event async for event in events_so_far(run)]
        info = await run.info()

    assert summary.status == "passed"
    assert server.done() == ["first", "second", "second", "third"]
    assert (info.started_at, info.ended_at) == (first.at, last.at)


async def test_a_server_that_ends_lets_the_steps_at_work_end_first(server: Server) -> None:
    async with server.open(drain_seconds=60.0) as service:
        started = await service.runs.start(LOCAL, server.request(WAITS))
        await wait_until(lambda: server.done() == ["first", "second"])
        asyncio.get_running_loop().call_later(0.1, (server.folder / "go").touch)

    assert server.done() == ["first", "second"]
    async with server.open() as service:
        summary = await (await service.runs.get(LOCAL, started.id)).wait()

    assert summary.status == "passed"
    assert server.done() == ["first", "second", "third"]


@pytest.mark.parametrize("slots", [1, 2], ids=["queued", "about to begin"])
async def test_a_server_can_end_before_what_it_was_asked_for_has_begun(server: Server, slots: int) -> None:
    async with server.open(slots=slots) as service:
        await service.runs.start(LOCAL, server.request(WAITS))
        await wait_until(lambda: server.done() == ["first", "second"])
        late = await service.runs.start(LOCAL, server.request("steps: [{run: echo late >> done.txt}]"))

    assert server.done() == ["first", "second"]
    (server.folder / "go").touch()
    async with server.open() as service:
        assert (await (await service.runs.get(LOCAL, late.id)).wait()).status == "passed"
    assert server.done().count("late") == 1


async def test_a_run_can_be_ended_at_once_while_it_gets_its_files(server: Server) -> None:
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "nothing yet")):
        subprocess.run(["git", "-C", server.folder, *GIT_USER, *words], check=True)  # noqa: ASYNC221 - it is short
    async with server.open() as service:
        started = await service.runs.start(LOCAL, server.request("steps: [{run: sleep 600}]", commit="HEAD"))
        await wait_until(lambda: any(server.settings.workspaces.glob("*")))
        await service.runs.kill(LOCAL, started.id)

        assert (await started.wait()).status == "cancelled"


async def test_a_paused_session_comes_back_at_the_same_stop_with_its_edits(server: Server) -> None:
    text = """
        vars: {word: before}
        steps:
          - {id: first, run: echo first >> done.txt}
          - {id: second, run: "echo ${{ .vars.word }} >> done.txt"}
    """
    debug = DebugRequest(stop_at_entry=True)
    async with server.open() as service:
        started = await service.runs.start(LOCAL, server.request(text, debug=debug))
        (stop,) = await stops_of(service, started)
        await service.debugging.say(LOCAL, started.id, verbs.Step(stop, "over"))
        (stop,) = await stops_of(service, started, after=stop)
        await service.debugging.say(LOCAL, started.id, verbs.Set(stop, ".vars.word", "edited"))

    async with server.open() as service:
        run = await service.runs.get(LOCAL, started.id)
        assert await stops_of(service, run) == [stop]
        await listed_as(service, run.id, "paused")
        await service.debugging.say(LOCAL, run.id, verbs.Continue(stop))
        summary = await run.wait()

    assert summary.status == "passed"
    assert summary.intervened
    assert server.done() == ["first", "edited"]


async def test_a_step_that_is_paused_in_a_workspace_of_its_own_finds_it_again(server: Server) -> None:
    text = "steps: [{id: apart, workspace: fresh, run: 'test -e left || { touch left; exit 1; }'}]"
    async with server.open() as service:
        started = await service.runs.start(LOCAL, server.request(text, debug=DebugRequest()))
        (stop,) = await stops_of(service, started)

    async with server.open() as service:
        run = await service.runs.get(LOCAL, started.id)
        assert await stops_of(service, run) == [stop]
        await service.debugging.say(LOCAL, run.id, verbs.Retry(stop))

        assert (await run.wait()).status == "passed"


async def test_a_step_that_is_not_to_be_repeated_undecided_fails_where_the_session_was_detached(server: Server) -> None:
    text = WAITS.replace("id: second,", "id: second, on_interrupt: pause,")
    async with server.open() as service:
        started = await service.runs.start(LOCAL, server.request(text, debug=DebugRequest(stop_on_error=False)))
        await wait_until(lambda: server.done() == ["first", "second"])
        await service.debugging.say(LOCAL, started.id, verbs.Detach())

    (server.folder / "go").touch()
    async with server.open() as service:
        summary = await (await service.runs.get(LOCAL, started.id)).wait()

    assert (summary.status, server.done()) == ("failed", ["first", "second"])
    assert "no debugger is attached" in str(summary.error)


async def test_a_clock_that_jumps_ends_nothing_and_holds_nothing_up(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    true_time, ahead = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: true_time() + ahead[0])
    monkeypatch.setattr(SystemClock, "now", staticmethod(time.time))
    text = WAITS.replace("name: waits", "name: waits\n    timeout: 1h").replace(
        "id: second,", "id: second, timeout: 1h,"
    )
    debug = DebugRequest(breakpoints=(BreakpointRequest(step="third"),))
    async with server.open() as service:
        run = await service.runs.start(LOCAL, server.request(text, debug=debug))
        await wait_until(lambda: server.done() == ["first", "second"])
        ahead[0] = 7 * 24 * 3600.0
        (server.folder / "go").touch()
        (stop,) = await stops_of(service, run)
        ahead[0] = -7 * 24 * 3600.0
        listed = await service.runs.list(LOCAL, RunQuery())
        await service.debugging.say(LOCAL, run.id, verbs.Continue(stop))
        summary = await run.wait()

    assert [each.id for each in listed.runs] == [run.id]
    assert (summary.status, server.done()) == ("passed", ["first", "second", "third"])
    async with server.open() as service:
        assert (await (await service.runs.get(LOCAL, run.id)).info()).status == "passed"


async def test_a_run_that_is_paused_holds_no_slot(server: Server) -> None:
    async with server.open(slots=1) as service:
        paused = await service.runs.start(
            LOCAL, server.request("steps: [{run: exit 0}]", debug=DebugRequest(stop_at_entry=True))
        )
        (stop,) = await stops_of(service, paused)
        other = await service.runs.start(LOCAL, server.request("steps: [{run: exit 0}]"))

        assert (await other.wait()).status == "passed"
        await service.debugging.say(LOCAL, paused.id, verbs.Continue(stop))
        assert (await paused.wait()).status == "passed"


async def test_a_run_that_waits_for_a_slot_is_pending_and_can_be_cancelled(server: Server) -> None:
    async with server.open(slots=1) as service:
        working = await service.runs.start(LOCAL, server.request(WAITS))
        await wait_until(lambda: server.done() == ["first", "second"])
        waiting = await service.runs.start(LOCAL, server.request("steps: [{run: touch never}]"))

        assert (await waiting.info()).status == "pending"
        assert [event async for event in events_so_far(waiting)] == []
        await service.runs.cancel(LOCAL, waiting.id, "not wanted any more")
        assert (await waiting.wait()).status == "cancelled"
        (server.folder / "go").touch()
        assert (await working.wait()).status == "passed"

    assert not (server.folder / "never").exists()


async def test_a_run_that_begins_while_leases_are_renewed_is_not_taken_for_a_lost_one(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    renew = SqlStore.renew
    begun: list[ActiveRun] = []

    async def renew_while_one_begins(self: SqlStore, *held: Any) -> set[str]:
        ours = await renew(self, *held)
        if not begun:
            begun.append(await service.runs.start(LOCAL, server.request("steps: [{run: echo once >> done.txt}]")))
        return ours

    monkeypatch.setattr(SqlStore, "renew", renew_while_one_begins)
    async with server.open() as service:
        await service.owned.renew_leases()
        (run,) = begun

        assert (await run.wait()).status == "passed"
    assert server.done() == ["once"]


async def test_a_server_that_renews_its_leases_keeps_its_runs(server: Server) -> None:
    clock = MovedClock()
    async with (
        server.open(clock=clock, database_time=clock) as service,
        server.open(clock=clock, database_time=clock) as other,
    ):
        run = await service.runs.start(LOCAL, server.request(WAITS))
        await wait_until(lambda: server.done() == ["first", "second"])
        for _ in range(2 * BEATS_PER_LEASE):
            clock.move(BEAT_SECONDS)
            await wait_until(lambda: clock.waiting == 2 * CHORES)  # each server has renewed its leases

        assert (await (await other.runs.get(LOCAL, run.id)).info()).status == "running"
        (server.folder / "go").touch()
        assert (await run.wait()).status == "passed"
    assert server.done() == ["first", "second", "third"]


async def test_a_run_whose_lease_is_over_is_taken_over_by_a_server_that_is_there(server: Server) -> None:
    stuck, clock = MovedClock(), MovedClock()
    async with server.open(clock=stuck, database_time=clock) as service:
        run = await service.runs.start(LOCAL, server.request(WAITS))
        await wait_until(lambda: server.done() == ["first", "second"])
        async with server.open(clock=clock, database_time=clock) as other:
            await wait_until(lambda: clock.waiting == CHORES)
            clock.move(LEASE_SECONDS)
            taken_over = await wait_until(lambda: other.owned._known.live.get(run.id))
            stuck.move(BEAT_SECONDS)  # it looks again, and finds that the run is another's
            with pytest.raises(LogLost):
                await run.wait()
            (server.folder / "go").touch()

            assert (await taken_over.wait()).status == "passed"
    assert server.done() == ["first", "second", "second", "third"]


REPORT = '<testsuite><testcase classname="a" name="good"/></testsuite>'
ENDS_ALONE = f"""
    name: ends alone
    steps:
      - id: it
        secrets: [TOKEN]
        tests: "*.xml"
        run: |
          echo "begins with $TOKEN"; echo began >> done.txt; while [ ! -e go ]; do sleep 0.02; done
          echo '{REPORT}' > new.xml
          echo "word=$TOKEN" >> "$PITSTOP_OUTPUT"
          echo "ends with $TOKEN"; printf 'no newline'; echo oops >&2; exit 3
"""


async def lose_and_resume(service: Any, run: Any, clock: MovedClock) -> Any:
    """The run as the same server resumes it, after its workspace and its lease were lost; it may be over already."""

    async def is_resumed() -> bool:
        info = await (await service.runs.get(LOCAL, run.id)).info()
        return info.status in ENDED or run.id in service.owned._known.live

    lapse(service.owned._executor._processes)
    with pytest.raises(LogLost):
        await run.wait()
    await wait_until(lambda: run.id not in service.owned._known.live and clock.waiting == CHORES)
    clock.move(LEASE_SECONDS)
    await wait_until(is_resumed)
    return await service.runs.get(LOCAL, run.id)


async def test_a_command_that_ended_while_its_server_hung_is_not_run_again_and_has_its_whole_result(
    server: Server,
) -> None:
    clock = MovedClock()
    (server.folder / "old.xml").write_text(REPORT)
    async with server.open(clock=clock, database_time=clock) as service:
        run = await service.runs.start(LOCAL, server.request(ENDS_ALONE, secrets={"TOKEN": "hunter2hunter2"}))
        await wait_until(lambda: server.done() == ["began"])
        await wait_until(lambda: log_of(run, "it"))
        await wait_until(lambda: clock.waiting == CHORES)
        (server.folder / "go").touch()
        wait_here_until(lambda: list(server.settings.workspaces.glob("*/.pitstop/logs/*.end")))  # the loop hangs
        resumed = await lose_and_resume(service, run, clock)
        summary = await resumed.wait()
        lines = await log_of(resumed, "it")
        events = [event async for event in events_so_far(resumed)]

    assert (server.done(), summary.status) == (["began"], "failed")
    assert "exit code 3" in str(summary.error)
    assert sorted(lines) == ["begins with ***", "ends with ***", "no newline", "oops"]
    assert not list(server.settings.workspaces.glob("*/.pitstop/logs/*")), "nothing takes them any more"
    (outcome,) = [event.fields["outcome"] for event in events if event.kind == "step.finished"]
    assert (outcome["outputs"]["word"], outcome["outputs"]["exit_code"]) == ("***", 3)
    assert outcome["outputs"]["tests"]["files"] == ["new.xml"]
    assert "step.interrupted" not in [event.kind for event in events]


BEGINS_ANEW = """
    steps:
      - id: it
        workspace: fresh
        run: |
          test ! -e left; touch left; echo began >> "$WORK/done.txt"
          while [ ! -e "$WORK/go" ]; do sleep 0.02; done
"""


async def test_a_step_in_a_workspace_of_its_own_that_had_not_ended_begins_anew_without_what_it_left(
    server: Server,
) -> None:
    clock = MovedClock()
    async with server.open(clock=clock, database_time=clock) as service:
        text = f"env: {{WORK: {server.folder}}}\n" + textwrap.dedent(BEGINS_ANEW)
        run = await service.runs.start(LOCAL, server.request(text))
        await wait_until(lambda: server.done() == ["began"])
        await wait_until(lambda: clock.waiting == CHORES)
        resumed = await lose_and_resume(service, run, clock)
        await wait_until(lambda: server.done() == ["began", "began"])
        (server.folder / "go").touch()

        assert (await resumed.wait()).status == "passed"
        assert not list(server.settings.workspaces.glob(f"{run.id}-fresh-*"))


async def log_of(run: ActiveRun, occurrence: str) -> list[str]:
    return [line.text for line in (await run.log(occurrence)).lines]


async def test_a_server_that_stands_still_as_a_run_is_made_carries_it_out_once(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, database_time = SqlStore.create, MovedClock()

    async def create_and_stand_still(self: SqlStore, *args: Any, **more: Any) -> Any:
        kept = await create(self, *args, **more)
        database_time.move(LEASE_SECONDS)
        await service.owned.renew_leases()
        return kept

    monkeypatch.setattr(SqlStore, "create", create_and_stand_still)
    async with server.open(database_time=database_time) as service:
        run = await service.runs.start(LOCAL, server.request("steps: [{run: echo once >> done.txt}]"))

        assert (await run.wait()).status == "passed"
    assert server.done() == ["once"]


async def test_a_run_that_begins_while_it_is_taken_over_is_carried_out_once(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, open_claimed = SqlStore.create, SqlStore.open_claimed
    is_read, has_begun, database_time = asyncio.Event(), asyncio.Event(), MovedClock()

    async def create_and_stand_still(self: SqlStore, *args: Any, **more: Any) -> Any:
        kept = await create(self, *args, **more)
        database_time.move(LEASE_SECONDS)
        others.create_task(service.owned.renew_leases())
        await is_read.wait()
        return kept

    async def read_until_it_begins(self: SqlStore, claims: Any) -> Any:
        opened = await open_claimed(self, claims)
        is_read.set()
        await has_begun.wait()
        return opened

    async with server.open(database_time=database_time) as service, asyncio.TaskGroup() as others:
        monkeypatch.setattr(SqlStore, "create", create_and_stand_still)
        monkeypatch.setattr(SqlStore, "open_claimed", read_until_it_begins)
        run = await service.runs.start(LOCAL, server.request("steps: [{run: echo once >> done.txt}]"))
        has_begun.set()
        assert isinstance(run, LiveRun)
        with pytest.raises(LogLost):
            await run.wait()
        await run.is_gone.wait()

        assert (await (await service.runs.get(LOCAL, run.id)).wait()).status == "passed"
    assert server.done() == ["once"]


def hold_workspaces(service: ServerService, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Let no run give up its workspace before the event is set."""
    release, may_release = service.owned._executor.release, asyncio.Event()

    async def release_later(*args: Any, **more: Any) -> None:
        await may_release.wait()
        await release(*args, **more)

    monkeypatch.setattr(service.owned._executor, "release", release_later)
    return may_release


async def test_a_run_is_forgotten_when_it_has_given_its_workspace_up(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with server.open() as service:
        may_release = hold_workspaces(service, monkeypatch)
        run = await service.runs.start(LOCAL, server.request("steps: [{run: 'true'}]"))
        await run.wait()
        async with asyncio.TaskGroup() as group:
            deleting = group.create_task(service.runs.delete(LOCAL, run.id))
            await service.runs.pin(LOCAL, run.id)  # which takes as long as to forget a run does
            was_too_early = deleting.done()
            may_release.set()

        assert not was_too_early
        with pytest.raises(UnknownRun):
            await service.runs.pin(LOCAL, run.id)


async def test_a_run_from_a_step_waits_for_the_files_that_the_run_before_gives_up(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "steps: [{id: write, run: echo one > file}, {id: read, run: cat file}]"
    async with server.open() as service:
        may_release = hold_workspaces(service, monkeypatch)
        run = await service.runs.start(LOCAL, RunRequest(flow="flow.yaml", text=text))
        await run.wait()
        async with asyncio.TaskGroup() as group:
            starting = group.create_task(service.runs.rerun(LOCAL, run.id, RerunRequest(from_step="read")))
            other = await service.runs.start(LOCAL, RunRequest(flow="flow.yaml", text=text))  # which takes as long
            if starting.done():
                await starting.result().wait()
            may_release.set()
            await other.wait()

        assert (await starting.result().wait()).status == "passed"


async def test_a_run_from_a_step_repeats_nothing_before_it_with_secrets_either(server: Server) -> None:
    text = "steps: [{id: a, run: echo a >> done.txt}, {id: b, secrets: [KEY], run: 'echo $KEY >> done.txt'}]"
    async with server.open() as service:
        run = await service.runs.start(LOCAL, server.request(text, secrets={"KEY": "one"}))
        await run.wait()
        again = await service.runs.rerun(LOCAL, run.id, RerunRequest(from_step="b", secrets={"KEY": "two"}))
        await again.wait()

    assert server.done() == ["a", "one", "two"]


async def test_a_server_whose_database_is_away_at_its_end_leaves_nothing_open(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(self: SqlStore, id: str) -> None:
        raise StoreUnavailable("it is away")

    monkeypatch.setattr(SqlStore, "forget_server", refuse)
    with pytest.raises(StoreUnavailable, match="it is away"):
        async with server.open() as service:
            pass

    with pytest.raises(Unavailable, match="closed"):
        await service.owned._executor.acquire(Placement())
    with pytest.raises(StoreUnavailable, match="closed"):
        await StoredAudit(service.owned._store).add(Deed(1.0, "ann", "look", None, {}))  # type: ignore[arg-type]


async def test_whoever_waits_for_a_run_hears_that_its_end_cannot_be_kept(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(self: SqlRun, **changes: Any) -> None:
        raise StoreUnavailable("not this one")

    monkeypatch.setattr(SqlRun, "update", refuse)
    async with server.open() as service:
        may_release = hold_workspaces(service, monkeypatch)
        run = await service.runs.start(LOCAL, server.request("steps: [{run: 'true'}]"))
        assert isinstance(run, LiveRun)
        try:
            with pytest.raises(StoreUnavailable, match="not this one"):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await run.wait()
            run.leave()  # as a server does that ends before the workspace is given up
        finally:
            may_release.set()


async def test_a_server_that_ends_begins_no_step_of_a_run_that_it_takes_over_meanwhile(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, drain = SqlStore.claim, ServerRuns._drain
    is_claimed, may_take = asyncio.Event(), asyncio.Event()

    async def claim_and_take_long(self: SqlStore, *args: Any) -> Any:
        claims = await claim(self, *args)
        is_claimed.set()
        await may_take.wait()
        return claims

    async def drain_while_it_is_taken_over(self: ServerRuns) -> None:
        await drain(self)
        may_take.set()
        await taking_over
        await wait_until(lambda: all(has_started(run) for run in service.owned._known.live.values()))

    async with asyncio.TaskGroup() as group, server.open() as service:
        async with server.open(slots=1) as before:
            await before.runs.start(LOCAL, server.request("steps: [{run: sleep 600}]"))
            await before.runs.start(LOCAL, server.request("steps: [{run: echo begun >> done.txt}]"))
        monkeypatch.setattr(SqlStore, "claim", claim_and_take_long)
        monkeypatch.setattr(ServerRuns, "_drain", drain_while_it_is_taken_over)
        taking_over = group.create_task(service.owned.renew_leases())
        await is_claimed.wait()

    assert server.done() == []


def has_started(run: LiveRun) -> bool:
    return any(isinstance(event, RunStarted) for event in run.journal.read())


@pytest.mark.parametrize("is_waited_for", [True, False])
async def test_a_run_that_is_looked_for_as_it_is_made_is_found_where_it_begins(
    server: Server, monkeypatch: pytest.MonkeyPatch, is_waited_for: bool
) -> None:
    create, owner_of = SqlStore.create, SqlStore.owner_of
    finding: list[asyncio.Task[ActiveRun]] = []
    is_asked, has_begun = asyncio.Event(), asyncio.Event()

    async def create_and_be_looked_for(self: SqlStore, *args: Any, **more: Any) -> Any:
        kept = await create(self, *args, **more)
        finding.append(others.create_task(service.runs.get(LOCAL, kept.id)))
        await is_asked.wait()
        return kept

    async def tell_before_or_after_it_begins(self: SqlStore, run: str) -> Any:
        owner = await owner_of(self, run)
        is_asked.set()
        if not is_waited_for:
            await has_begun.wait()
        return owner

    monkeypatch.setattr(SqlStore, "create", create_and_be_looked_for)
    monkeypatch.setattr(SqlStore, "owner_of", tell_before_or_after_it_begins)
    async with server.open() as service, asyncio.TaskGroup() as others:
        run = await service.runs.start(LOCAL, server.request(WAITS))
        has_begun.set()
        found = await finding[0]
        await service.runs.cancel(LOCAL, found.id, "enough")

        assert found is run


async def test_a_run_of_a_server_that_does_not_come_to_begin_it_can_be_looked_at(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, owner_of, clock, found = SqlStore.create, SqlStore.owner_of, MovedClock(), []

    async def create_and_be_found(self: SqlStore, *args: Any, **more: Any) -> Any:
        kept = await create(self, *args, **more)
        found.append(await service.runs.get(LOCAL, kept.id))
        with pytest.raises(NotRunning):
            await service.runs.cancel(LOCAL, kept.id, "enough")
        return kept

    async def answer_and_let_time_pass(self: SqlStore, run: str) -> Any:
        owner = await owner_of(self, run)
        asyncio.get_running_loop().call_soon(clock.move, BEGIN_SECONDS)
        return owner

    monkeypatch.setattr(SqlStore, "create", create_and_be_found)
    monkeypatch.setattr(SqlStore, "owner_of", answer_and_let_time_pass)
    async with server.open(clock=clock) as service:
        await service.runs.start(LOCAL, server.request(WAITS))

        assert (await found[0].info()).status in ("pending", "running")


async def stops_of(service: Service, run: ActiveRun, after: int = 0) -> list[int]:
    """The stops that last, as soon as there is one that came after this."""

    async def stops() -> list[int]:
        return [
            stop.id for stop in (await service.debugging.say(LOCAL, run.id, verbs.State())).stops if stop.id > after
        ]

    found: list[int] = await wait_until(stops)
    return found


async def listed_as(service: ServerService, run: str, status: RunStatus) -> None:
    async def is_listed() -> bool:
        return [each.id for each in (await service.runs.list(LOCAL, RunQuery(status=(status,)))).runs] == [run]

    await wait_until(is_listed)


async def test_a_step_that_was_interrupted_fails_or_is_stopped_at_if_it_says_so(server: Server) -> None:
    text = """
        steps:
          - id: payment
            run: "echo paid >> done.txt; while [ ! -e go ]; do sleep 0.02; done"
            on_interrupt: {policy}
    """
    async with server.open() as service:
        failing = await service.runs.start(LOCAL, server.request(text.replace("{policy}", "fail")))
        pausing = await service.runs.start(LOCAL, server.request(text.replace("{policy}", "pause")))
        await wait_until(lambda: server.done() == ["paid", "paid"])

    (server.folder / "go").touch()
    async with server.open() as service:
        failed = await (await service.runs.get(LOCAL, failing.id)).wait()
        paused = await service.runs.get(LOCAL, pausing.id)
        (stop,) = await stops_of(service, paused)
        assert (await service.debugging.say(LOCAL, paused.id, verbs.State())).stops[0].reasons == ("interrupted",)
        assert server.done() == ["paid", "paid"]
        await service.debugging.say(LOCAL, paused.id, verbs.Skip(stop))
        skipped = await paused.wait()

    assert (failed.status, failed.failures[0].type) == ("failed", "Interrupted")
    assert skipped.status == "passed"
    assert server.done() == ["paid", "paid"]


async def test_a_stored_flow_works_on_the_files_that_it_stands_beside(server: Server) -> None:
    flows = server.folder / ".pitstop/flows"
    flows.mkdir(parents=True)
    (flows / "ci.yaml").write_text("steps: [{id: a, run: cat VERSION}]")
    (server.folder / "VERSION").write_text("1.2.3\n")

    async with server.open(flow_folders=(flows,)) as service:
        run = await service.runs.start(LOCAL, RunRequest(flow="ci"))
        summary = await run.wait()
        page = await run.log("a")

    assert summary.status == "passed"
    assert [line.text for line in page.lines] == ["1.2.3"]


async def test_a_request_that_comes_again_after_a_crash_finds_the_run_that_it_made(server: Server) -> None:
    request = replace(server.request(WAITS), run_id="reserved-1")
    async with server.open() as service:
        made = await service.runs.start(LOCAL, request)
        await wait_until(lambda: server.done() == ["first", "second"])
    (server.folder / "go").touch()
    async with server.open() as service:
        found = await service.runs.start(LOCAL, request)
        summary = await found.wait()
        again = await service.runs.start(LOCAL, request)
        listed = await service.runs.list(LOCAL, RunQuery())

    assert {made.id, found.id, again.id} == {"reserved-1"}
    assert [each.id for each in listed.runs] == ["reserved-1"]
    assert (summary.status, server.done()) == ("passed", ["first", "second", "second", "third"])
