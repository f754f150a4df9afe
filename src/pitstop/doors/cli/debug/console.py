"""The person's side of one run: what they look at, and what they are told."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine
from contextlib import suppress
from typing import Any, Self

from rich.text import Text

from pitstop.doors.cli.debug import render
from pitstop.doors.cli.debug.focus import MAIN, choose_frame
from pitstop.doors.cli.debug.output import OutputLine, OutputLines
from pitstop.doors.cli.debug.screen import Screen
from pitstop.doors.cli.debug.trail import Trail, label_of
from pitstop.doors.cli.early_output import EarlyOutput
from pitstop.doors.cli.passing import pass_stops
from pitstop.doors.cli.plain import Seldom
from pitstop.doors.cli.signs import sign_of
from pitstop.errors import BadCommand, CommandRefused, NotRunning
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import Debugger, DebugState, StopInfo, verbs
from pitstop.service.desks import Service
from pitstop.service.flows import StepInfo
from pitstop.service.runs import ActiveRun, EventInfo, Output, WorkspaceProgress
from pitstop.service.workspaces import ShellRecord

Ask = Callable[[str], Awaitable[bool]]

SHOWN_SECONDS = 0.05
NOTHING_KNOWN = DebugState(
    session="pending",
    frames=(),
    stops=(),
    breakpoints=(),
    watches=(),
    edits=(),
    interventions=(),
    last_event=0,
    is_ended=False,
)


async def always_yes(question: str) -> bool:
    return True


class Console:
    """What is known and chosen by the person. `stop` is where the selected frame stands, once that was shown.

    `state` is the debugger's as it was last looked at. `ask` puts a question to the person. A run `elsewhere` can be
    left alone, and other commands reach it with these words; one in this process can only be left where it is paused.

    `told` is the event up to which the person knows what happened; without it, that is up to the stops that there are.
    """

    def __init__(
        self,
        service: Service,
        run: ActiveRun,
        screen: Screen,
        *,
        elsewhere: str | None = None,
        record: ShellRecord | None = None,
        told: int | None = None,
    ) -> None:
        self.service = service
        self.run = run
        self.debugger = Debugger(service.debugging, LOCAL, run.id)
        self.record = record  # what is kept of its shells
        self.elsewhere = elsewhere
        self.state = NOTHING_KNOWN
        self.screen = screen
        self.ask: Ask = always_yes  # until a prompt asks
        self.steps: dict[str, StepInfo] = {step.path: step for step in run.flow.steps}
        self._around = {step.parent for step in run.flow.steps}  # steps that others are in: they may stop half-way
        self.trail = Trail(self.steps)
        self.frame = MAIN
        self.stop: StopInfo | None = None
        self.on_interrupt: Callable[[], None] | None = None
        self.has_quit = False
        self.has_left = False
        self.is_over = False
        self.listed_to = 0  # the last line of the source that was asked for at this stop
        self.last_move: str | None = None
        self.told_of_files = ""  # how far they are kept, or put back
        self._seldom = Seldom()
        self._known = told
        self._turn = 0  # the event whose turn it is to be told: the run may be further
        self._told = 0  # the last event that was told, with all that there is to say about it
        self._settled_at = 0  # the last event that there was when `stop` was shown
        self._early = EarlyOutput(self._show_output)
        self._output = OutputLines()
        self._heard: set[str] = set()  # occurrences that have written something since this is shown
        self._looking = asyncio.Lock()
        self._news = asyncio.Event()
        self._tasks = asyncio.TaskGroup()
        self._following: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        unhear, unhear_progress = self.run.hear_output(self._early.hear), self.run.hear_progress(self._hear_progress)
        await self._tasks.__aenter__()
        self._following = self._tasks.create_task(self._follow(unhear, unhear_progress), name="tell what happens")
        return self

    async def __aexit__(self, *error: Any) -> None:
        try:
            await self._tasks.__aexit__(*error)
        except BaseExceptionGroup as group:  # such as a reader of our output who has gone: the caller knows of no group
            raise group.exceptions[0] from None

    def in_background(self, work: Coroutine[Any, Any, object]) -> None:
        """Do something that nobody waits for; a refusal of it is told."""
        self._tasks.create_task(self._told_if_refused(work))

    async def _told_if_refused(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except CommandRefused as error:
            self.screen.say(render.error_line(error))

    @property
    def frame_ids(self) -> list[str]:
        return [frame.id for frame in self.state.frames]

    @property
    def is_ending(self) -> bool:
        """Whether there is nothing more to be said to the run."""
        return self.is_over or self.has_quit or self.has_left

    def take_signal(self, name: str, count: int) -> None:
        """Ctrl-C is the prompt's, where there is one; any other signal, and any that comes again, ends the run."""
        if name == "SIGINT" and self.on_interrupt is not None and not self.has_quit:
            self.on_interrupt()
        elif not self.is_over:
            self.has_quit = True
            self.in_background(self.end(name))

    async def end(self, reason: str) -> None:
        """End the run: what runs is cancelled, and cleanup is done. Said again, cleanup is ended too."""
        self.has_quit = True
        with suppress(NotRunning):  # it was over by then
            await self.service.runs.cancel(LOCAL, self.run.id, reason)
        self._news.set()

    def leave(self) -> None:
        """Let the run go on without us."""
        self.has_left = True
        if self._following is not None:
            self._following.cancel()
        self._news.set()

    def style_of(self, frame: str) -> str:
        return render.frame_style(frame, self.frame_ids)

    def stopped(self) -> StopInfo:
        """The stop that commands are about; BadCommand when the selected frame is not at one."""
        if self.stop is not None:
            return self.stop
        if self.is_over:
            raise BadCommand("the run has ended")
        others = [stop.frame for stop in self.state.stops]
        hint = f"; `frame {others[0]}` is paused" if others else "; `pause` or Ctrl-C pauses it"
        raise BadCommand(f"frame {self.frame} is running{hint}")

    async def went_on(self, move: str | None) -> None:
        """The selected frame was let go; `move` is the line that an empty one repeats."""
        self.last_move = move
        await self.look()

    async def look(self) -> None:
        """Ask the debugger how it is now, and forget a stop that is over."""
        async with self._looking:  # an answer that came after that to a later question would tell how it was
            self.state = await self.debugger.say(verbs.State())
            if self.stop is not None and not self._lasts(self.stop):
                self.stop = None

    def _lasts(self, stop: StopInfo) -> bool:
        return stop.id in (each.id for each in self.state.stops)

    async def wait_settled(self) -> None:
        """Until the selected frame is stopped, and that was shown with all else that had happened by then, or there is
        nothing more to come."""
        while not self.is_ending and (self.stop is None or self._told < self._settled_at):
            self._news.clear()
            await self._news.wait()

    async def wait_over(self) -> None:
        while not self.is_over and not self.has_left:
            self._news.clear()
            await self._news.wait()

    async def select(self, frame: str) -> None:
        """Look at another frame, whatever it does."""
        self.frame = frame
        self.stop = None
        await self.look()
        await self._show_stop(frame)

    def drop_output(self, occurrence: str) -> None:
        """Do not show the output of a step that the user sees in a shell."""
        self._early.drop(occurrence)

    # Telling what happens

    async def _follow(self, *unhear: Callable[[], None]) -> None:
        """Tell what happens until the run has ended. What is known already is not told again."""
        try:
            await self.look()
            known = max((self.run.carried_over, *(stop.after_event for stop in self.state.stops)))
            self._turn = self._told = known if self._known is None else self._known
            await self._refresh([stop.id for stop in self.state.stops])
            async for event in self.run.events():
                self.trail.apply(event)
                if event.number > self._told:
                    self._turn = event.number
                    await self._tell(event)
                    self._told = event.number
                    self._news.set()
                self._early.follow(event)
        finally:
            for each in unhear:
                each()
            self.stop, self.is_over = None, True
            self._news.set()
            self._early.let_out()

    async def _tell(self, event: EventInfo) -> None:
        fields = event.fields
        match event.kind:
            case "debug.stopped" if self.has_quit:
                await pass_stops(self.service, self.run.id)
            case "debug.stopped":
                await self._refresh([fields["stop"]])
            case "debug.resumed" | "debug.stop_ended":
                if self.stop is not None and self.stop.id == fields["stop"]:
                    self.stop = None
                if event.kind == "debug.stop_ended" and not self.has_quit:
                    self.screen.say(Text(f"○ stop {fields['stop']} ended: {fields['reason']}", style="yellow"))
            case "debug.all_stopped" | "frame.ended":
                await self._refresh([], all_stopped=event.kind == "debug.all_stopped")
            case "debug.logged":
                self.screen.say(Text.assemble(("» ", self.style_of(fields["frame"])), fields["message"]))
            case "debug.lease_ended":
                self.screen.say(Text(f"stop {fields['stop']} timed out: {fields['policy']}", style="yellow"))
            case "step.finished":
                self._tell_finished(event)

    def _tell_finished(self, event: EventInfo) -> None:
        fields = event.fields
        occurrence, status = fields["occurrence"], fields["outcome"]["status"]
        self._say_output(occurrence, self._output.finish(occurrence))
        seconds = event.at - self.trail.started_at.get(occurrence, event.at)
        is_timed = fields["step"] not in self._around and seconds >= SHOWN_SECONDS
        took = f"  {status} in {seconds:.1f} s" if is_timed else f"  {status}"
        sign = sign_of(status)
        self.screen.say(Text.assemble((f"{sign.shape} {occurrence}", sign.style), (took, "dim")))

    async def _refresh(self, new_stops: Collection[int], *, all_stopped: bool = False) -> None:
        """Look where the selected frame is now, and tell of new stops that are elsewhere."""
        await self.look()
        stops = self._told_stops
        chosen = choose_frame(self.frame, self.state.frames, stops, self.trail.beside)
        if all_stopped and stops and chosen not in (stop.frame for stop in stops):
            chosen = stops[0].frame  # nothing else can happen
        self.frame = chosen
        await self._show_stop(chosen)
        elsewhere = [stop for stop in stops if stop.id in new_stops and stop.frame != self.frame and self._lasts(stop)]
        for stop in elsewhere:
            title = render.stop_title(stop, self.steps.get(stop.step), self.style_of(stop.frame))
            self.screen.say(title.append(f"  `frame {stop.frame}` selects it", style="dim"))

    @property
    def _told_stops(self) -> list[StopInfo]:
        """Those whose turn has come: what led to any other, such as the failure of its step, is yet to be told."""
        return [stop for stop in self.state.stops if stop.after_event <= self._turn]

    async def _show_stop(self, frame: str) -> None:
        stop = next((each for each in self._told_stops if each.frame == frame), None)
        if stop is None or self._is_shown(stop):
            return
        lines = await self.describe(stop)
        await self.look()
        if self._lasts(stop) and self.frame == frame and not self._is_shown(stop):  # who selects a frame shows it, too
            self.screen.say(*lines)
            self.stop, self.listed_to = stop, 0
            self._settled_at = self.state.last_event

    def _is_shown(self, stop: StopInfo) -> bool:
        return self.stop is not None and self.stop.id == stop.id

    async def describe(self, stop: StopInfo) -> list[Text]:
        """All that is told of a stop: where it is and what can be done first."""
        step = self.steps.get(stop.step.partition("/")[0])  # that of a call is the one that makes it
        error_lines = 1 if stop.occurrence in self._heard else render.MOST_ERROR_LINES  # more of it was just shown
        lines = [render.stop_title(stop, step, self.style_of(stop.frame))]
        lines += render.stop_reasons(stop, most_error_lines=error_lines)
        lines += [] if stop.call is None else render.call_lines(stop.call)
        lines += [render.stop_verbs(stop), *self.source_around(step)]
        with suppress(CommandRefused):  # it may be over before it is told
            changes = [
                each for each in await self.debugger.say(verbs.Diff(stop.id)) if not each.path.startswith(".tool")
            ]
            lines += render.change_lines(changes, render.MOST_CHANGES)
            lines += render.watch_lines(await self.debugger.say(verbs.Watches(stop.id)) if self.state.watches else {})
        return lines

    def source_around(self, step: StepInfo | None, line: int | None = None, around: int = render.AROUND) -> list[Text]:
        """The flow around a step, or around a line of the same file."""
        text = self.run.texts.get(step.file) if step is not None and step.file is not None else None
        if step is None or step.file is None or text is None or step.line is None:
            return []
        dots = render.breakpoint_dots(self.state.breakpoints, self.steps, step.file)
        return render.source_lines(text, step.line, line or step.line, dots, around)

    # What steps write

    def _show_output(self, output: Output) -> None:
        self._heard.add(output.occurrence)
        self._say_output(output.occurrence, self._output.feed(output))

    def _hear_progress(self, progress: WorkspaceProgress) -> None:
        """In a terminal it is told in a line that passes, or by the prompt; what was done by then stays there."""
        self.told_of_files = "" if progress.is_over else progress.text
        if self.screen.is_terminal and not progress.is_over:
            self.screen.say_passing(progress.text)
        elif progress.text and self._seldom.is_due(progress):
            self.screen.say(Text(progress.text, style="dim"))

    def _say_output(self, occurrence: str, lines: list[str]) -> None:
        if lines:
            style = self.style_of(self.trail.frame_of.get(occurrence, self.frame))
            self.screen.say(*(OutputLine(label_of(occurrence), style, line) for line in lines))


Action = Callable[[Console, Any], Awaitable[None]]
