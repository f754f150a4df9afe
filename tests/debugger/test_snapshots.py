"""Going back puts the files of the workspace back too, where they were kept."""

from collections.abc import Mapping
from typing import Any

import pytest

from pitstop.debugger.session import Session
from pitstop.engine.frame import Activation
from pitstop.errors import Unavailable, WorkspaceInUse
from pitstop.events.log import MemoryLog, events_from_json, events_to_json
from pitstop.events.types import Rewound, SnapshotTaken, StepStarted
from tests.debugger.bench import Debugged, at, debugging, undebugged
from tests.engine.flows import flow, leaf, parallel, sequence, takes


class Files:
    """A workspace of texts by name, with snapshots that are copies."""

    def __init__(self) -> None:
        self.now: dict[str, str] = {}
        self.kept: dict[str, dict[str, str]] = {}
        self.restored: list[str] = []
        self.is_broken = False
        self.is_full = False

    async def take(self, frame: str, occurrence: str) -> str | None:
        if self.is_full:
            raise Unavailable("there is no room")
        name = f"s{len(self.kept) + 1}"
        self.kept[name] = dict(self.now)
        return name

    async def restore(self, snapshot: str) -> None:
        if self.is_broken:
            raise Unavailable("the disk is full")
        self.restored.append(snapshot)
        self.now = dict(self.kept[snapshot])

    def write(self, name: str) -> Any:
        def do(activation: Activation) -> None:
            self.now[name] = f"{self.now.get(name, '')}{activation.attempt}"

        return do


def breaking(*steps: str, **options: Any) -> Session:
    session = Session(**{"stop_on_error": False, "snapshots": True, **options})
    for step in steps:
        session.add_breakpoint(step)
    return session


def taken(run: Debugged) -> list[tuple[str, str]]:
    return [(event.occurrence, event.position) for event in run.told(SnapshotTaken)]


async def test_the_workspace_is_kept_before_each_step_and_at_each_stop() -> None:
    files = Files()
    plan = flow(leaf("a", files.write("a")), sequence("s", leaf("b"), leaf("c", condition="false")))
    async with debugging(plan, {}, breaking("b"), snapshots=files) as run:
        await run.session.continue_(await run.stop())
        await run.end()

    assert taken(run) == [("a", "before"), ("s.b", "before"), ("s.b", "before")]
    assert [point.snapshot for point in run.session.history() if point.occurrence == "s.b"] == ["s2", "s3", None]


async def test_without_a_session_that_asks_for_it_only_a_step_that_asks_for_it_is_kept() -> None:
    files = Files()
    plan = flow(leaf("a"), leaf("b", snapshot=True))
    async with debugging(plan, {}, breaking("b", snapshots=False), snapshots=files) as run:
        await run.session.continue_(await run.stop())
        await run.end()
    assert taken(run) == [("b", "before")]

    assert (await undebugged(plan, {})).status.value == "passed"


@pytest.mark.parametrize("how", ["back", "rewind", "restart", "goto"])
async def test_going_back_puts_the_files_back(how: str) -> None:
    files = Files()
    plan = flow(leaf("a", files.write("a")), leaf("b", files.write("b")), leaf("c"))
    async with debugging(plan, {}, breaking("a", "b", "c"), snapshots=files) as run:
        stop = await run.on(await run.on(await run.stop()))
        assert files.now == {"a": "1", "b": "1"}
        session = run.session
        if how == "back":
            await session.step_back(stop)
        elif how == "rewind":
            point = next(each for each in session.history() if each.occurrence == "b" and each.stop is None)
            await session.rewind(stop, point)
        elif how == "restart":
            await session.restart_frame(stop)
        else:
            await session.goto(stop, "b")
        stop = await run.stop()

        assert at(stop) == ("before a" if how == "restart" else "before b")
        assert files.now == ({} if how == "restart" else {"a": "1"})
        assert stop.problems == ()


async def test_what_a_person_changed_at_a_stop_is_undone_by_going_back_to_it() -> None:
    files = Files()
    plan = flow(leaf("a", files.write("a")), leaf("b"), leaf("c"))
    async with debugging(plan, {}, breaking("b", "c"), snapshots=files) as run:
        stop = await run.stop()
        files.now["by hand"] = "x"
        stop = await run.back(await run.on(stop))
        assert (at(stop), files.now) == ("before b", {"a": "1"})


async def test_a_stop_that_is_gone_back_to_again_and_again_has_its_files_each_time() -> None:
    files = Files()
    plan = flow(leaf("a", files.write("a")), leaf("b", files.write("b")), leaf("c"))
    async with debugging(plan, {}, breaking("b", "c"), snapshots=files) as run:
        stop = await run.on(await run.stop())
        for _ in range(3):
            assert files.now == {"a": "1", "b": "1"}
            stop = await run.back(stop)
            assert (at(stop), files.now, stop.problems) == ("before b", {"a": "1"}, ())
            stop = await run.on(stop)


async def test_a_point_without_a_snapshot_is_gone_back_to_and_says_that_files_are_as_they_were_left() -> None:
    files = Files()
    plan = flow(leaf("a", files.write("a")), leaf("b"))
    async with debugging(plan, {}, breaking("a", "b", snapshots=False), snapshots=files) as run:
        stop = await run.on(await run.stop())
        assert {point.snapshot for point in run.session.history()} == {None}
        stop = await run.back(stop)
        assert (at(stop), files.now) == ("before a", {"a": "1"})
        assert "were not restored" in stop.problems[0]


async def test_files_that_cannot_be_kept_are_told_at_each_stop_until_they_can() -> None:
    files = Files()
    plan = flow(leaf("a", files.write("a")), leaf("b", files.write("b")), leaf("c"))
    async with debugging(plan, {}, breaking("a", "b", "c"), snapshots=files) as run:
        stop = await run.stop()
        files.is_full = True
        stop = await run.on(stop)
        assert stop.problems == ("the workspace files are not stored at this point: there is no room",)
        files.is_full = False
        stop = await run.on(stop)
        assert (at(stop), stop.problems, files.now) == ("before c", (), {"a": "1", "b": "1"})
        stop = await run.back(stop)
        assert "were not restored" in stop.problems[0]


async def test_a_snapshot_that_cannot_be_put_back_is_told_at_the_stop() -> None:
    files = Files()
    plan = flow(leaf("a", files.write("a")), leaf("b"))
    async with debugging(plan, {}, breaking("a", "b"), snapshots=files) as run:
        stop = await run.on(await run.stop())
        files.is_broken = True
        stop = await run.back(stop)
        assert at(stop) == "before a"
        assert "the disk is full" in stop.problems[0]


async def test_it_is_put_back_before_anything_runs_again() -> None:
    files = Files()
    seen: list[Mapping[str, str]] = []
    part = sequence("y", leaf("y1"), leaf("y2", lambda activation: seen.append(dict(files.now))))
    plan = flow(
        leaf("a", files.write("a")), parallel("p", sequence("x", leaf("x1", files.write("x"))), part), leaf("z")
    )
    async with debugging(plan, {}, breaking("a", "z"), snapshots=files) as run:
        stop = await run.on(await run.stop())
        point = next(
            each for each in run.session.history() if each.occurrence == "p.y.y2" and each.position == "before"
        )
        kept = files.kept[point.snapshot or ""]
        await run.session.rewind(stop, point)
        await run.session.continue_(await run.stop())
        await run.stop()

    assert seen[1] == kept


async def test_files_are_not_put_back_under_the_hands_of_frames_that_run() -> None:
    files = Files()
    part = sequence("x", leaf("x1", files.write("x")), leaf("x2"))
    plan = flow(parallel("p", part, sequence("y", leaf("y1", takes(60)), leaf("y2"))))
    async with debugging(plan, {}, breaking("x1", "x2"), snapshots=files) as run:
        stop = await run.on(await run.stop())
        await run.event(StepStarted, occurrence="p.y.y1")
        before = len(run.log)
        with pytest.raises(WorkspaceInUse) as refused:
            await run.session.step_back(stop)
        assert refused.value.frames == ("p.y",)
        assert len(run.log) == before
        assert files.now == {"x": "1"}


async def test_files_may_be_put_back_while_the_other_frames_are_stopped() -> None:
    files = Files()
    part = sequence("x", leaf("x1", files.write("x")), leaf("x2"))
    plan = flow(parallel("p", part, sequence("y", leaf("y1"), leaf("y2"))))
    async with debugging(plan, {}, breaking("x1", "x2", "y1"), snapshots=files) as run:
        stops = await run.stops(2)
        stop = await run.on(stops["before p.x.x1"])
        assert at(stop) == "before p.x.x2"
        assert at(await run.back(stop)) == "before p.x.x1"
        assert files.now == {}


async def test_killed_before_the_files_were_put_back_they_are_when_it_goes_on() -> None:
    files = Files()
    plan = flow(leaf("a", files.write("a")), leaf("b"))
    async with debugging(plan, {}, breaking("a", "b"), snapshots=files) as run:
        await run.back(await run.on(await run.stop()))
        events = run.log.read()
        cut = next(number for number, event in enumerate(events, 1) if isinstance(event, Rewound))
        log = MemoryLog(events_from_json(events_to_json(events[:cut])))
    files.now = {"a": "1"}
    session = Session()
    async with debugging(plan, {}, session, log=log, snapshots=files) as run:
        stop = await run.stop()
        assert (at(stop), files.now) == ("before a", {})
        assert session.snapshots


async def test_looking_at_the_past_leaves_files_alone() -> None:
    files = Files()
    plan = flow(leaf("a", files.write("a")), leaf("b"))
    async with debugging(plan, {}, breaking("a", "b"), snapshots=files) as run:
        await run.on(await run.stop())
        for point in run.session.history():
            await run.session.scope_at(point)

    assert files.restored == []
    assert files.now == {"a": "1"}
