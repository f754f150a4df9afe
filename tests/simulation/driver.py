"""Someone at the debugger who does anything, at any time; and the rules that hold whatever they do."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from pitstop.debugger.remains import remains_of
from pitstop.debugger.session import Session
from pitstop.debugger.stops import Stop
from pitstop.engine.clock import SystemClock
from pitstop.engine.frame import MAIN
from pitstop.engine.ports import Ports
from pitstop.engine.run import Run
from pitstop.errors import BadExpression, CommandRefused
from pitstop.events.counting import events_that_count
from pitstop.events.log import MemoryLog
from pitstop.events.outcome import Outcome
from pitstop.events.types import (
    Aborted,
    AnyEvent,
    FrameCancelled,
    FrameOpened,
    Resumed,
    Rewound,
    RunEnded,
    RunStarted,
    StepFinished,
    StepInterrupted,
    StepStarted,
    StopEnded,
    Stopped,
)
from pitstop.events.view import RunView, fold
from pitstop.executors.jq_worker import JqWorker
from pitstop.plan.plan import Plan
from pitstop.plan.scope import Values
from tests.simulation.flows import FIRST_VALUES, LONG_SECONDS, Doing


class VirtualClock(SystemClock):
    """The loop's own time, so that logs tell virtual seconds."""

    @staticmethod
    def now() -> float:
        return asyncio.get_running_loop().time()


@dataclass
class Ended:
    """What is left of a run to be judged."""

    outcome: Outcome
    values: Values
    events: list[AnyEvent]
    ran: list[str]
    session: Session | None = None


class BarrierLog(MemoryLog):
    """A log that steps wait for, as those of a service do."""

    async def settled(self) -> None:
        await asyncio.sleep(0)


async def run_plan(
    plan: Plan, log: MemoryLog, session: Session | None = None, joins_after: float | None = None
) -> Ended:
    """Run a plan with a session, which is there from the start or joins after so many seconds."""
    doing = Doing()
    ports = Ports(JqWorker(), VirtualClock(), {"do": doing})
    run = Run(plan, dict(FIRST_VALUES), ports, log=log, hook=session if joins_after is None else None)
    if session is None or joins_after is None:
        outcome = await run.execute()
    else:
        joining = asyncio.get_running_loop().call_later(joins_after, run.join, session)
        outcome = await run.execute()
        joining.cancel()
        if not session.is_ended:  # it would have come too late
            session.attach(run)
            session.run_ended(outcome)
    return Ended(outcome, run.scope.own.values, list(log.read()), doing.ran, session)


@dataclass
class Driver:
    """Drives a session at random.

    Without `may_edit` only commands that leave the run as it would have been; with `may_go_back` also those that repeat
    parts of it.
    """

    session: Session
    plan: Plan
    random: random.Random
    may_edit: bool = False
    may_go_back: bool = False
    only: str | None = None
    commands: int = 400
    joins_after: float | None = None
    view: RunView = field(default_factory=RunView)
    seen: dict[int, Stop] = field(default_factory=dict)

    async def run(self, log: MemoryLog) -> Ended:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(run_plan(self.plan, log, self.session, self.joins_after))
            chaos = group.create_task(self._chaos()) if self.only is None else None
            while (stop := await self.session.next_stop()) is not None:
                self._check()
                self.seen[stop.id] = stop
                if self.only is not None:
                    await self._act(stop, self.only)
                    continue
                if self.random.random() < 0.3:
                    await asyncio.sleep(self.random.choice([0.0, 1.0, 1.5 * LONG_SECONDS]))
                self.commands -= 1
                while not stop.is_over and self.commands > 0:
                    self.commands -= 1
                    await self._act(stop, self._choose())
                if self.commands <= 0 and not self.session.is_ended:
                    await self._try(self.session.detach)
            if chaos is not None:
                chaos.cancel()
        self._check_late_client(log)
        return running.result()

    def _check_late_client(self, log: MemoryLog) -> None:
        """One that joins at any moment, with a snapshot and the events since, knows what the first one knows."""
        events = log.read()
        late = fold(events[: self.random.randint(0, len(events))])
        for event in events[late.last_event :]:
            late.apply(event)
        self._check()
        assert late == self.view

    def _choose(self) -> str:
        moving = [
            "continue",
            "continue_all",
            "into",
            "over",
            "out",
            "to",
            "pause",
            "cancel_pause",
            "evaluate",
            "stale",
            "bad",
        ]
        travelling = ["back", "rewind", "restart", "forward", "forward"]
        editing = ["set", "unset", "undo", "skip", "force", "retry", "inject", "config", "goto"]
        if self.may_edit:
            return self.random.choice(moving + travelling + editing)
        return self.random.choice(moving + travelling if self.may_go_back else moving)

    async def _act(self, stop: Stop, what: str) -> None:
        session, chance = self.session, self.random
        steps = list(self.plan.steps)
        if what == "bad":
            await self._refused(stop)
            return
        actions: dict[str, Callable[[], Awaitable[object]]] = {
            "continue": lambda: session.continue_(stop),
            "continue_all": session.continue_all,
            "into": lambda: session.step_into(stop),
            "over": lambda: session.step_over(stop),
            "out": lambda: session.step_out(stop),
            "to": lambda: session.run_to(stop, chance.choice(steps)),
            "pause": lambda: session.pause(chance.choice([None, stop.frame])),
            "cancel_pause": lambda: session.cancel_pause(chance.choice([None, stop.frame])),
            "evaluate": lambda: session.evaluate(stop, ".vars.n"),
            "stale": lambda: session.continue_(chance.randint(-1, stop.id - 1)),
            "set": lambda: session.set(stop, ".vars.n", chance.randint(0, 9)),
            "unset": lambda: session.unset(stop, ".vars.n"),
            "undo": lambda: session.undo(stop),
            "skip": lambda: session.skip(stop, {"value": 1}),
            "force": lambda: session.force(stop, chance.choice(["passed", "failed", "skipped"])),
            "retry": lambda: session.retry(stop),
            "inject": lambda: session.inject(
                stop, {"uses": "do", "with": {"failures": chance.randint(0, 1)}}, chance.choice(["before", "after"])
            ),
            "back": lambda: session.step_back(stop),
            "rewind": lambda: session.rewind(stop, chance.choice(session.history())),
            "restart": lambda: session.restart_frame(stop),
            "forward": lambda: session.forward(stop),
            "goto": lambda: session.goto(stop, chance.choice(steps)),
            "config": lambda: session.override_config(stop, {"yields": 1}),
        }
        await self._try(actions[what])

    async def _try(self, action: Callable[[], Awaitable[object]]) -> None:
        """Do it, or be refused by name; who is refused has changed nothing."""
        before = self._state()
        try:
            await action()
        except (CommandRefused, BadExpression):
            assert self._state() == before, "a refused command changed something"
        self._check()

    async def _refused(self, stop: Stop) -> None:
        """Commands that are wrong in every state."""
        session = self.session
        for wrong in (
            lambda: session.set(stop, "no path", 1),
            lambda: session.force(stop, "splendid"),
            lambda: session.run_to(stop, "nowhere"),
            lambda: session.pause("no-such-frame"),
            lambda: session.step_over(10**9),
            lambda: session.inject(stop, {"uses": "nothing"}),
            lambda: session.rewind(stop, 10**9),
        ):
            before = self._state()
            try:
                await wrong()
            except CommandRefused:
                assert self._state() == before
            else:
                raise AssertionError("a wrong command was not refused")

    async def _chaos(self) -> None:
        """Pauses, breakpoints and second thoughts while things run."""
        session, chance = self.session, self.random
        breakpoints: list[int] = []
        for _ in range(chance.randint(0, 12)):
            await asyncio.sleep(chance.choice([0.0, 0.0, 0.5, 3.0]))
            what = chance.choice(["pause", "continue_all", "add", "remove", "check", "frame", "end", "abort", "detach"])
            if what == "check":
                self._check_next_session()
            elif what == "pause":
                await self._try(session.pause)
            elif what == "continue_all":
                await self._try(session.continue_all)
            elif what == "add":
                breakpoints.append(add_random_breakpoint(session, self.plan, chance))
            elif what == "remove" and breakpoints:
                number = breakpoints.pop()
                if any(each.id == number for each in session.breakpoints):
                    session.remove_breakpoint(number)
            elif what == "frame" and session.frames:
                frame = chance.choice(session.frames).id
                await self._try(lambda frame=frame: session.pause(frame))  # type: ignore[misc]
            elif what == "end" and self.may_edit and len(session.frames) > 1:
                frame = chance.choice([each.id for each in session.frames if each.id != MAIN])
                await self._try(lambda frame=frame: session.cancel_frame(frame))  # type: ignore[misc]
            elif what == "abort" and self.may_edit and chance.random() < 0.2:
                await self._try(session.abort)
            elif what == "detach" and chance.random() < 0.1:
                await self._try(session.detach)
            self._check()

    def _check_next_session(self) -> None:
        """One that takes over now, because this process is killed, knows from the log what this one knows."""
        session = self.session
        left = remains_of(session.log.read()) if not session.is_ended and len(session.log) else None
        if left is None or left.aborts:
            return
        frames = (*left.view.frames_before.values(), *left.view.frames.values())
        assert {each.id for each in frames if each.own_state == "pausing"} == session._pausing
        if not left._opening:  # frames that were opened last are opened anew, and have their effect then
            assert sorted(map(repr, left.goals)) == sorted(map(repr, session._goals))
        assert [left.view.breakpoints[each.id]["hit_count"] for each in session.breakpoints] == [
            each.hit_count for each in session.breakpoints
        ]
        assert left.view.breakpoints.keys() == {each.id for each in session.breakpoints}
        for number, stop in left.lasting.items():
            held = session._held.get(number)
            assert held is None or len(held.done) == len(stop.done)
            assert held is None or (held.config or None) == stop.config

    def _state(self) -> Any:
        session = self.session
        return (
            len(session.log),
            session._goals[:],
            sorted(session._pausing),
            sorted(session._held),
            sorted(session._arrivals),
            [stop.scope.as_dict() for stop in session.stops],
        )

    def _check(self) -> None:
        """What holds at every moment: the log tells what the session knows, and each paused frame has one waiter."""
        session, view = self.session, self.view
        for event in session.log.read(view.last_event):  # a client that was there from the start
            view.apply(event)
        told = {frame.id: frame.own_state for frame in view.frames.values()}
        known = {frame.id: frame.state for frame in session.frames}
        if self.joins_after is not None:  # what ended before the session came is not known to it
            told = {frame: state for frame, state in told.items() if state != "done" or frame in known}
        assert told == known, f"the log tells {told.items() - known.items()}, the session knows {known}"
        returning = {left.event.stop: left.event.frame for left in session._returning.values()}
        assert sorted(view.stops) == sorted([*session._held, *returning])
        frames = [*(held.stop.frame for held in session._held.values()), *returning.values()]
        assert len(frames) == len(set(frames)), "a frame is held twice"
        assert all(not held.verdict.done() or held.verdict.cancelled() for held in session._held.values())
        assert {frame for frame, state in known.items() if state == "paused"} == set(frames) & set(known)


def add_random_breakpoint(session: Session, plan: Plan, chance: random.Random) -> int:
    step = chance.choice(list(plan.steps))
    position = chance.choice(["before", "before", "after", "error"])
    more: dict[str, Any] = chance.choice(
        [{}, {}, {"hits": "% 2"}, {"once": True}, {"log": "n is ${{ .vars.n }}"}, {"condition": ".vars.yes"}]
    )
    place: dict[str, Any] = chance.choice([{"step": step}, {"step": step}, {"kind": plan.steps[step].kind}, {}])
    if chance.random() < 0.1:
        return session.add_breakpoint(state=".vars.n").id
    return session.add_breakpoint(position=position, **place, **more).id  # type: ignore[arg-type]


def is_cleanup(path: str) -> bool:
    return path.rpartition(".")[2].startswith("cleanup-")


def check_aborted(events: list[AnyEvent]) -> None:
    """After an abort nothing but cleanup starts, unless somebody goes back."""
    is_aborted = False
    for event in events:
        if isinstance(event, Aborted | Rewound):
            is_aborted = isinstance(event, Aborted)
        elif isinstance(event, StepStarted):
            assert not is_aborted or is_cleanup(event.step), f"{event.occurrence} ran after the abort"


def check_ended_by_hand(events: list[AnyEvent]) -> None:
    """A branch that somebody has ended starts nothing more, in another process neither, unless somebody goes back."""
    ended: set[str] = set()
    parents: dict[str, str | None] = {}
    for number, event in enumerate(events, 1):
        if isinstance(event, FrameOpened):
            parents[event.frame] = event.parent
        elif isinstance(event, FrameCancelled):
            ended.add(event.frame)
        elif isinstance(event, Rewound) and ended:
            counting = events_that_count(events[:number])
            ended = {each.frame for _, each in counting if isinstance(each, FrameCancelled)}
        elif isinstance(event, RunStarted):  # those in it were told at once, and may have begun something before
            ended |= {frame for frame in parents if ended & set(lineage(frame, parents))}
        elif isinstance(event, StepStarted) and not is_cleanup(event.step):
            assert event.frame not in ended, f"{event.occurrence} ran although its branch was ended by hand"


def lineage(frame: str, parents: dict[str, str | None]) -> list[str]:
    around = parents.get(frame)
    return [frame] if around is None else [frame, *lineage(around, parents)]


async def walk_back_and_forth(session: Session, plan: Plan, chance: random.Random, log: MemoryLog) -> int:
    """Step into, over and back along a plan with one frame: back always leads to the stop before, as it was then."""
    road: list[tuple[str, str, Values]] = []
    backs = 0
    async with asyncio.TaskGroup() as group:
        group.create_task(run_plan(plan, log, session))
        is_going_back = False
        for _ in range(60):
            stop = await session.next_stop()
            if stop is None:
                return backs
            here = (stop.occurrence, stop.position, stop.scope.as_dict())
            if is_going_back:
                assert here == road.pop(), "back did not lead to the stop before"
            assert ("step_back" in stop.allowed) == bool(road)
            is_going_back = bool(road) and chance.random() < 0.45
            if is_going_back:
                backs += 1
                await session.step_back(stop)
            else:
                road.append(here)
                await chance.choice([session.step_into, session.step_over])(stop)
        await session.detach()
    return backs


def check_log(events: list[AnyEvent]) -> None:
    """Stop ids increase, and each stop is followed by exactly one end; nothing comes after the end of the run."""
    last, open_stops = 0, set[int]()
    for event in events:
        if isinstance(event, Stopped):
            assert event.stop > last, "stop ids do not increase"
            last = event.stop
            open_stops.add(event.stop)
        elif isinstance(event, Resumed | StopEnded):
            assert event.stop in open_stops, f"stop {event.stop} ended twice, or before it began"
            open_stops.remove(event.stop)
    assert not open_stops, f"stops {open_stops} never ended"
    assert isinstance(events[-1], RunEnded)
    check_ended_by_hand(events)


def check_interrupted(plan: Plan, events: list[AnyEvent]) -> None:
    """What was at work when its process was killed does what it says itself, and nothing comes before that."""
    for number, event in enumerate(events):
        if not isinstance(event, StepInterrupted):
            continue
        told = (StepStarted, StepFinished, Stopped, RunStarted)
        next_told = (each for each in events[number + 1 :] if isinstance(each, told))
        after = next(each for each in next_told if getattr(each, "frame", event.frame) == event.frame)
        on_interrupt = plan.steps[event.step].on_interrupt
        if isinstance(after, StepFinished):
            error = after.outcome.error
            assert error is not None
            assert (after.occurrence, error.type) == (event.occurrence, "Interrupted")
            assert on_interrupt != "repeat"
        elif isinstance(after, Stopped):
            assert (after.occurrence, after.position) == (event.occurrence, "before")
            assert ("interrupted" in after.reasons) == (on_interrupt == "pause")
        elif isinstance(after, StepStarted):
            assert after.occurrence == event.occurrence
            assert on_interrupt == "repeat"


def check_stops_came_back(kept: list[AnyEvent], ended: Ended, driver: Driver) -> None:
    """Each stop that lasted when its process was killed was one again, the same in all; or the log says why not."""
    over = {event.stop for event in ended.events[len(kept) :] if isinstance(event, Resumed | StopEnded)}
    assert set(fold(kept).stops) <= over
    for number, event in fold(kept).stops.items():
        again = driver.seen.get(number)
        if again is not None:
            told = (again.frame, again.occurrence, again.position, again.reasons, again.breakpoints)
            assert told == (event.frame, event.occurrence, event.position, event.reasons, event.breakpoints)
