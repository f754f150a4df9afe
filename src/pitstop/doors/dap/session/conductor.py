"""One stop at a time: what happens in many branches as a client with one point of attention can follow it."""

import asyncio
import contextlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from pitstop.doors.dap.protocol.failures import RequestFailed
from pitstop.doors.dap.protocol.messages import StoppedEvent
from pitstop.doors.dap.session.announcing import description_of, has_news, is_only_paused, reason_of, text_of
from pitstop.doors.dap.session.editor import Edit, Editor
from pitstop.doors.dap.session.exceptions import is_wanted
from pitstop.doors.dap.session.outputs import Outputs
from pitstop.doors.dap.session.patience import patiently
from pitstop.doors.dap.session.places import Places
from pitstop.errors import CommandRefused, PitstopError
from pitstop.service.debugging import Debugger, DebugState, FrameInfo, PointInfo, StopInfo, verbs
from pitstop.service.runs import EventInfo

PAUSE_SECONDS = 0.5  # how long a step may take to end before a pause is told without it


class Conductor:
    """Tells of stops, and keeps the other branches where they are meanwhile.

    The first branch that stops is told of, and all others are parked at the next point they come to. One that hits
    something meanwhile keeps its stop, and is told of when the client goes on. Without `stops_all` each branch is on
    its own.
    """

    def __init__(
        self, editor: Editor, debugger: Debugger, places: Places, outputs: Outputs, *, stops_all: bool
    ) -> None:
        self.stops_all = stops_all
        self.current: StopInfo | None = None  # the one that the client was told of last
        self.is_stopped = False  # whether the client takes the run for stopped
        self._editor = editor
        self._debugger = debugger
        self._places = places
        self._outputs = outputs
        self._told: set[int] = set()
        self._heard: set[int] = set()  # what the run has by now may be further than what we have heard of it
        self._ours: set[int] = set()  # the stops that we have ended ourselves
        self._parking: set[str] = set()  # the branches that were asked to stand still for the sake of another
        self._stepping = False  # whether only one branch moves, and the parked ones stay
        self._passing: set[str] = set()  # the branches that are let through, whatever they were asked for before
        self._ending: set[str] = set()  # the branches that the client wants ended
        self._is_pause_wanted = False
        self._is_silent = False
        self._expected: str | None = None
        self._carried: tuple[str, tuple[Edit, ...]] = ("", ())  # what to edit again, and before which occurrence

    @property
    def may_stand(self) -> bool:
        """Whether something may be stopped, as the client has it: where each branch is on its own, any of them."""
        return self.is_stopped or not self.stops_all

    def has_heard(self, stop: int) -> bool:
        """Whether the client can know of a stop: what it says of its branch is said of no later one."""
        return stop in self._heard

    def has_shown(self, stop: int) -> None:
        """The client has seen a stop that we may be yet to hear of: what it says of the branch is said of that."""
        self._heard.add(stop)

    # What happens

    async def hear(self, event: EventInfo) -> None:
        match event.kind:
            case "debug.stopped":
                await self._hear_stop(event.fields["stop"])
            case "debug.resumed" | "debug.stop_ended":
                await self._hear_end_of_stop(event.fields["stop"], event.fields["frame"])
            case "debug.all_stopped":
                await self._hear_all_stopped(event.fields["stops"])

    async def begin(self, state: DebugState) -> None:
        """Tell of a stop that was there before the client was. What happens from `state` on is heard."""
        self._heard |= {stop.id for stop in state.stops}
        if state.stops:
            await self._announce(_first_news(state.stops) or state.stops[0], state)

    async def _hear_stop(self, number: int) -> None:
        self._heard.add(number)
        state = await self._debugger.say(verbs.State())
        stop = _stop(state.stops, number)
        if stop is None:  # it is over already
            return
        is_parked = is_only_paused(stop) and stop.frame in self._parking
        is_passing = stop.frame in self._passing and not has_news(stop)
        if is_passing or stop.frame in self._ending:
            await self._let_go(stop)
        elif not await self._is_worth_a_stop(stop):
            await self._let_go(stop, keeps_step=True)
        elif not self.stops_all:
            await self._announce(stop, state)
        elif self.is_stopped:
            self._tell_invalidated(stop.frame)
        elif not is_parked or self._is_pause_wanted:
            await self._announce(stop, state)
        elif not self._stepping:  # it was asked to wait for something that is over
            await self._let_go(stop, keeps_step=True)
        self._parking.discard(stop.frame)

    async def _hear_end_of_stop(self, number: int, frame: str) -> None:
        """One that others ended, or that went with its branch."""
        self._editor.references.forget((number,))
        self._heard.discard(number)
        if number in self._ours:
            self._ours.discard(number)
            return
        if not self.is_stopped:
            return
        # One that we are yet to hear of is told then: taken for one of these, it would never be.
        left = [stop for stop in (await self._debugger.say(verbs.State())).stops if stop.id in self._heard]
        self._editor.tell(
            "continued",
            {"threadId": self._editor.threads.number(frame), "allThreadsContinued": not left},
        )
        self.is_stopped = bool(left)
        if not left:
            self._editor.progress.release()
        if self.current is not None and self.current.id == number:
            self.current = left[0] if left else None

    async def _hear_all_stopped(self, stops: Iterable[int]) -> None:
        """Nothing moves any more. If the client does not know, it would wait for ever."""
        if self.is_stopped:
            return
        state = await self._debugger.say(verbs.State())
        if not state.stops or any(_stop(state.stops, each) is None for each in stops):
            return  # that was before the last command
        stop = _first_news(each for each in state.stops if each.id not in self._told) or state.stops[0]
        waiting = ", ".join(each.frame for each in state.stops)
        self._editor.say(f"all frames are paused: {waiting}")
        await self._announce(stop, state, f"Nothing else can run: waiting for {waiting}")

    async def _is_worth_a_stop(self, stop: StopInfo) -> bool:
        """Whether a stop for a failure is one that the client's filters want; all others are."""
        if set(stop.reasons) != {"failure"}:
            return True
        marks = self._editor.breakpoints.hit(stop.breakpoints)
        if not marks or any(mark.kind != "exception" for mark in marks):
            return True
        return await is_wanted(stop, self._editor.wanted_failures or {}, self._places, self._debugger)

    async def _announce(self, stop: StopInfo, state: DebugState, description: str | None = None) -> None:
        editor = self._editor
        hit = editor.breakpoints.hit(stop.breakpoints)
        if self.stops_all:  # first, for it may have to be asked again
            await self._park(state)
        await self._edit_again(stop)
        self.current, self.is_stopped = stop, True
        self._told.add(stop.id)
        if "breakpoint" in stop.reasons:
            editor.breakpoint_stops.add(stop.id)
        self._stepping = self._is_pause_wanted = False
        self._passing.clear()
        expected, self._expected = self._expected, None
        self._outputs.flush()
        self._tell_threads(state.frames)
        editor.progress.hold({each.occurrence or "" for each in state.frames if _is_at_work(each, state.frames)})
        for problem in stop.problems:
            editor.say(problem, "stderr")
        editor.tell(
            "stopped",
            StoppedEvent(
                reason=reason_of(stop, hit, expected),
                description=description or description_of(stop),
                thread_id=editor.threads.number(stop.frame),
                text=text_of(stop),
                all_threads_stopped=self.stops_all,
                hit_breakpoint_ids=[
                    mark.told.id for mark in hit if mark.told.id is not None and mark.kind != "exception"
                ],
            ),
        )

    async def _edit_again(self, stop: StopInfo) -> None:
        occurrence, edits = self._carried
        if (stop.occurrence, stop.position) != (occurrence, "before"):
            return
        for edit in edits:
            try:
                await self._debugger.say(replace(edit, stop=stop.id))
            except CommandRefused as error:
                self._editor.say(f"could not reapply an edit: {error}", "stderr")
        self._editor.edits[stop.id] = edits
        self._carried = ("", ())

    async def _park(self, state: DebugState) -> None:
        if any(frame.state == "running" and not _waits(frame, state.frames) for frame in state.frames):
            self._parking |= {frame.id for frame in state.frames if frame.state == "running"}
            with contextlib.suppress(CommandRefused):  # it has just ended
                await self._debugger.say(verbs.Pause())

    async def _let_go(self, stop: StopInfo, *, keeps_step: bool = False) -> None:
        """With `keeps_step`, a step of the client that would come past here does not end here."""
        self._ours.add(stop.id)
        with contextlib.suppress(CommandRefused):
            await self._debugger.say(verbs.Continue(stop.id, keeps_step=keeps_step))

    def _tell_threads(self, frames: Iterable[FrameInfo]) -> None:
        """Whatever the client was not told of yet: the thread that has stopped must be known."""
        for frame in frames:
            if frame.state != "done":
                self.tell_thread(frame.id, frame.name)

    def hear_opened(self, frame: str, name: str, parent: str | None) -> None:
        """A branch of one that was asked to stand still is asked, too, whether we knew of it then or not."""
        if parent in self._parking:
            self._parking.add(frame)
        self.tell_thread(frame, name)

    def tell_thread(self, frame: str, name: str) -> None:
        if self._editor.threads.open(frame, name):
            self._editor.tell_thread(frame, "started")

    def tell_thread_ended(self, frame: str) -> None:
        if self._editor.threads.close(frame):
            self._editor.tell_thread(frame, "exited")

    def _tell_invalidated(self, frame: str) -> None:
        if self._editor.client.hears_invalidated:
            number = self._editor.threads.number(frame)
            self._editor.tell("invalidated", {"areas": ["threads", "stacks"], "threadId": number})

    # What the client wants

    def move_on(self, stops: Iterable[int], *, is_step: bool = False, expected: str | None = None) -> None:
        """A command of the client is about to end these stops. `expected` is what the stop after it is told as."""
        ended = set(stops)
        self._ours |= ended
        self._editor.references.forget_all() if self.stops_all else self._editor.references.forget(ended)
        self.is_stopped = False
        self._editor.progress.release()
        self.current = None
        self._stepping = is_step
        self._passing.clear()
        self._expected = expected

    @contextlib.contextmanager
    def moving(
        self, stop: StopInfo | None, stops: Collection[int], *, is_step: bool = False, expected: str | None = None
    ) -> Iterator[None]:
        """As `move_on`, with the command inside. If that fails, all is as it was; what has happened all the same, as
        when only the answer of a server is lost, is heard as if others had done it.
        """
        before = (self.is_stopped or stop is not None, self.current or stop)
        self.move_on(stops, is_step=is_step, expected=expected)
        try:
            yield
        except (PitstopError, RequestFailed):
            self._ours.difference_update(stops)
            (self.is_stopped, self.current), self._stepping, self._expected = before, False, None
            raise

    def carry_edits(self, stop: StopInfo, point: PointInfo) -> None:
        """The run goes back from a stop to a point before it, where the client's edits are made again."""
        self._carried = (point.occurrence, self._editor.edits.pop(stop.id, ()))

    def let_through(self, branches: Iterable[str]) -> None:
        """These run to their ends: where they come to stand because of an earlier command, they go on."""
        self._passing.update(branches)

    def end_branch(self, stop: StopInfo) -> None:
        """Its step is about to fail for the sake of it, and that is no news."""
        self._ending.add(stop.frame)
        self.move_on((stop.id,), is_step=True)

    def fall_silent(self) -> None:
        """Tell nothing more, not even what was to be told later."""
        self._is_silent = True

    def want_pause(self) -> None:
        self._is_pause_wanted = True

    async def tell_pause_later(self, thread: int) -> None:
        """When no branch has come to a point for a while, tell the pause all the same, with what is still at work."""
        await asyncio.sleep(PAUSE_SECONDS)
        with contextlib.suppress(PitstopError):
            await patiently(partial(self._tell_at_work, thread))

    async def _tell_at_work(self, thread: int) -> None:
        async with self._editor.turn:
            if self.is_stopped or self._is_silent or not self._is_pause_wanted:
                return
            state = await self._debugger.say(verbs.State())
            at_work = [frame for frame in state.frames if frame.state == "pausing"]
            moving = [frame for frame in at_work if not _waits(frame, state.frames)]
            named = self._editor.threads.frame(thread)
            frame = next((each for each in moving if each.id == named), next(iter(moving), None))
            if frame is None:
                return
            self.is_stopped = True
            self._is_pause_wanted = False
            self._parking |= {each.id for each in at_work}
            self._outputs.flush()
            self._editor.tell(
                "stopped",
                StoppedEvent(
                    reason="pause",
                    description=f"Will pause after the current step {frame.occurrence}",
                    thread_id=self._editor.threads.number(frame.id),
                    all_threads_stopped=self.stops_all,
                    hit_breakpoint_ids=[],
                ),
            )

    async def retry(self, stop: StopInfo) -> None:
        """Run the step of a stop again and continue, with all branches or, where each is on its own, with this one."""
        state = await self._debugger.say(verbs.State())
        others = [each for each in state.stops if each.id != stop.id] if self.stops_all else []
        untold = self._untold(others)
        going = [each.id for each in others if each not in untold]
        with self.moving(stop, (stop.id, *going)):
            await self._debugger.say(verbs.Retry(stop.id))
            await self._continue_each(going)
        self._announce_next(untold)

    async def continue_all(self) -> None:
        """Let everything go on, but what has hit something that nobody was told of yet: that is told instead."""
        state = await self._debugger.say(verbs.State())
        untold = self._untold(state.stops)
        if not untold:
            with self.moving(None, [stop.id for stop in state.stops]):
                await self._debugger.say(verbs.Continue(all=True))
            self._parking.clear()
            return
        going = [stop.id for stop in state.stops if stop not in untold]
        with self.moving(None, going):
            await self._continue_each(going)
        self._announce_next(untold)

    def _untold(self, stops: Iterable[StopInfo]) -> list[StopInfo]:
        return [stop for stop in stops if stop.id not in self._told and has_news(stop)]

    async def _continue_each(self, stops: Iterable[int]) -> None:
        for number in stops:
            with contextlib.suppress(CommandRefused):  # another client was faster
                await self._debugger.say(verbs.Continue(number))

    def _announce_next(self, untold: Sequence[StopInfo]) -> None:
        if untold:
            self._editor.spawn(self._announce_later(untold[0].id), name="announce")

    async def _announce_later(self, number: int) -> None:
        """After the answer to what was asked."""
        with contextlib.suppress(PitstopError):  # then nothing can be told of the run any more, which is said
            await patiently(partial(self._announce_if_it_lasts, number))

    async def _announce_if_it_lasts(self, number: int) -> None:
        async with self._editor.turn:
            state = await self._debugger.say(verbs.State())
            stop = _stop(state.stops, number)
            if stop is not None and not self.is_stopped and not self._is_silent:
                await self._announce(stop, state)


def _stop(stops: Iterable[StopInfo], number: int) -> StopInfo | None:
    return next((stop for stop in stops if stop.id == number), None)


def _first_news(stops: Iterable[StopInfo]) -> StopInfo | None:
    return next((stop for stop in stops if has_news(stop)), None)


def _is_at_work(frame: FrameInfo, frames: Iterable[FrameInfo]) -> bool:
    return frame.state in ("running", "pausing") and not _waits(frame, frames)


def _waits(frame: FrameInfo, frames: Iterable[FrameInfo]) -> bool:
    """Whether a branch only waits for those that it has opened, and would not move by itself."""
    return any(
        each.parent == frame.id and each.state != "done" and each.id.startswith(frame.occurrence or "\0")
        for each in frames
    )
