"""What is debugged: a flow that is about to run, then its run, followed from its first event to its last."""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from pitstop.doors.dap.protocol.arguments import Mode, SessionOptions
from pitstop.doors.dap.protocol.failures import RequestFailed, not_stopped
from pitstop.doors.dap.session.conductor import Conductor
from pitstop.doors.dap.session.editor import Editor
from pitstop.doors.dap.session.file_watch import watch_files
from pitstop.doors.dap.session.outputs import Outputs
from pitstop.doors.dap.session.patience import patiently
from pitstop.doors.dap.session.places import Places
from pitstop.doors.dap.session.step_news import StepNews
from pitstop.errors import CommandRefused, NotRunning, PitstopError
from pitstop.service.attaching import Attaching
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import Debugger, DebugState, StopInfo, verbs
from pitstop.service.desks import Service
from pitstop.service.flows import FlowInfo, read_target
from pitstop.service.runs import ActiveRun, DebugRequest, EventInfo, RunRequest, WorkspaceProgress

LEASE_SECONDS = 4 * 3600.0  # somebody who has an editor before them attends to the stop
END_LOOKS, LOOK_SECONDS = 8, 0.1  # how long a run that is killed is waited for

_CHANGES = ("debug.scope_edited", "debug.edit_undone", "debug.config_overridden")


class Launch(Struct, frozen=True, kw_only=True):
    """What is to run. Without `debugs` nothing ever stops it."""

    service: Service
    request: RunRequest
    flow: FlowInfo
    is_local: bool = True
    debugs: bool = True
    stops_at_entry: bool = False
    stops_at_end: bool = False


class Attachment(Struct, frozen=True, kw_only=True):
    """A run that somebody else has started."""

    service: Service
    run: ActiveRun
    flow: FlowInfo
    is_local: bool = False
    debugs: bool = True


class Debuggee:
    """One run of a session. It begins when it is both launched (or found) and configured."""

    def __init__(self, editor: Editor, origin: Launch | Attachment, options: SessionOptions) -> None:
        self.origin = origin
        self.options = options
        self.run: ActiveRun | None = None
        self.is_over = False
        self.places = Places(origin.flow)
        self.planned = frozenset(self.places.by_path)  # the steps that can run, whatever the file has now
        self.outputs = Outputs(editor, self.places)
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._editor = editor
        self._conductor: Conductor | None = None
        self._beginning: asyncio.Task[None] | None = None
        self._is_wanted = True
        self._stop_hearing: Callable[[], None] = lambda: None
        self._news = StepNews(editor, self.places, self.outputs, tells_ends=bool(options.tell_steps))
        self._is_restarting = False
        self._is_ending_told = False
        self._is_left_to_itself = False
        self._ended = asyncio.Event()
        self._attachable: asyncio.Future[None] | None = None
        self._keeping: asyncio.Task[None] | None = None

    # What others ask

    @property
    def default_mode(self) -> Mode:
        return self.options.breakpoint_mode or "before"

    @property
    def debugger(self) -> Debugger | None:
        """The debugger of a run that lives."""
        return self._debugger(self.run) if self.run is not None and not self.is_over and self.origin.debugs else None

    def _debugger(self, run: ActiveRun) -> Debugger:
        return Debugger(self.origin.service.debugging, LOCAL, run.id)

    @property
    def conductor(self) -> Conductor:
        if self._conductor is None or self.is_over:
            raise not_stopped()
        return self._conductor

    def live(self) -> tuple[Debugger, Conductor]:
        """What steers the run; `notStopped` when there is nothing to steer."""
        debugger = self.debugger
        if debugger is None:
            raise not_stopped("the run has ended" if self.is_over else "the run has not started")
        return debugger, self.conductor

    async def stop_of(self, thread: int) -> StopInfo | None:
        """Where a thread stands; None when it moves, or waits for others, or nobody was told yet that it stands."""
        debugger, conductor = self.live()
        frame = self._editor.threads.frame(thread)
        stops = (await debugger.say(verbs.State())).stops
        return next((stop for stop in stops if stop.frame == frame and conductor.has_heard(stop.id)), None)

    async def stop(self, number: int | None) -> StopInfo | None:
        """A stop by its number; None when it has ended."""
        debugger, _ = self.live()
        return next((stop for stop in (await debugger.say(verbs.State())).stops if stop.id == number), None)

    def trace_of(self, occurrence: str) -> str | None:
        """Where in the code the failure of a step was raised, if it was."""
        return self._news.traces.get(occurrence)

    async def make_attachable(self) -> None:
        """Let another process of this user attach to the run, if it is in this one, until it ends; RequestFailed."""
        attaching, run = self.origin.service.attaching, self.run
        if self._attachable is None and attaching is not None and run is not None:
            opened = self._attachable = asyncio.get_running_loop().create_future()
            keeping = self._keep_attachable(attaching, run.id, opened)
            self._keeping = self._editor.spawn(keeping, name="attachable")
        if self._attachable is not None:
            await asyncio.shield(self._attachable)

    async def _keep_attachable(self, attaching: Attaching, run: str, opened: "asyncio.Future[None]") -> None:
        try:
            async with attaching.open(run):
                opened.set_result(None)
                await self._ended.wait()
        except OSError as error:
            if opened.done():
                raise
            self._attachable = None
            opened.set_exception(RequestFailed(f"cannot listen for a shell: {error}"))

    # Its life

    def begin(self) -> None:
        """Start the run, or begin to follow it, and tell the client until it is over. Said again, it is nothing new."""
        if self._beginning is None and self._is_wanted and not self.is_over:
            self._beginning = self._editor.spawn(self._live_through(), name="run")

    async def _live_through(self) -> None:
        try:
            async with self._editor.turn:
                if self.is_over or not self._is_wanted:  # somebody has ended it before it could begin
                    self.is_over = True
                    self._ended.set()
                    self._tell_begun()
                    return
                state = await (
                    self._launch(self.origin) if isinstance(self.origin, Launch) else self._attach(self.origin)
                )
        except (PitstopError, OSError) as error:
            async with self._editor.turn:
                self._editor.say(str(error), "stderr")
                self._tell_begun(error)
                self._tell_end(1)
            return
        self._tell_begun()
        watch = self._editor.spawn(self._watch_files(), name="files")
        try:
            await self._follow(state)
        finally:
            watch.cancel()

    async def _watch_files(self) -> None:
        """Only a file of ours is read again: code is not imported while it runs."""
        origin, run = self.origin, self.run
        if run is not None and isinstance(origin, Launch) and origin.is_local:
            file = origin.request.flow
            if read_target(file) is None:
                read = partial(origin.service.flows.check, LOCAL, file)
                await watch_files(self._editor, self.places, run.texts, read)

    def _tell_begun(self, error: Exception | None = None) -> None:
        if self.begun.done():
            return
        if error is None:
            self.begun.set_result(None)
        else:
            self.begun.set_exception(error)
            self.begun.exception()  # nobody has to ask

    async def _launch(self, launch: Launch) -> DebugState:
        debug = DebugRequest(
            breakpoints=self._editor.breakpoints.requests(),
            flow_breakpoints=False,  # the editor shows all that there are, and stores them
            remembers=False,
            stop_at_entry=launch.stops_at_entry,
            stop_on_error=False,
            stop_at_end=launch.stops_at_end,
            lease_seconds=LEASE_SECONDS,
        )
        request = replace(launch.request, debug=debug if launch.debugs else None)
        run = self.run = await launch.service.runs.start(LOCAL, request)
        if not self._is_wanted:
            await self._kill(run)
        state = await patiently(lambda: self._debugger(run).say(verbs.State()))
        self._editor.breakpoints.bind(state.breakpoints)
        self._prepare(run)
        return replace(state, last_event=run.carried_over)

    async def _attach(self, attachment: Attachment) -> DebugState:
        run = self.run = attachment.run
        self._prepare(run)
        state = await self._debugger(run).say(verbs.State())
        for frame in state.frames:
            if frame.state != "done":
                self.conductor.tell_thread(frame.id, frame.name)
        if not state.is_ended:
            with contextlib.suppress(NotRunning):  # it has just ended, which is heard
                await self._editor.breakpoints.set_all(self._debugger(run))
            await self.conductor.begin(state)
        return state

    def _prepare(self, run: ActiveRun) -> None:
        self._editor.sources.take(run.texts, is_local=self.origin.is_local)
        self._conductor = Conductor(
            self._editor, self._debugger(run), self.places, self.outputs, stops_all=self.options.stop_mode != "one"
        )
        self._stop_hearing = run.hear_output(self.outputs.hear)
        run.hear_progress(self._hear_progress)
        self._editor.tell(
            "process",
            {
                "name": run.flow.file or run.flow.name,
                "isLocalProcess": self.origin.is_local,
                "startMethod": "launch" if isinstance(self.origin, Launch) else "attach",
            },
        )

    async def _follow(self, state: DebugState) -> None:
        run = self.run
        if run is None:
            return
        try:
            following = run.events(state.last_event)
            async with contextlib.aclosing(following) as events:  # type: ignore[type-var] # it is a generator
                async for event in events:
                    await patiently(partial(self._hear_in_turn, event))
            code = 0 if (await patiently(run.wait)).status == "passed" else 1
        except (PitstopError, OSError) as error:  # the server is gone, say
            self._editor.say(f"lost the connection to the run: {error}", "stderr")
            code = 1
        async with self._editor.turn:
            self._tell_end(code)

    def _hear_progress(self, progress: WorkspaceProgress) -> None:
        key, size = "workspace", progress.of_bytes
        if progress.is_over or self.is_over:
            self._editor.progress.end(key)
        else:
            percentage = 100 * min(progress.bytes, size) / size if size else None
            self._editor.progress.report(key, "Snapshot", progress.text, percentage)

    async def _hear_in_turn(self, event: EventInfo) -> None:
        async with self._editor.turn:
            await self._hear(event)

    async def _hear(self, event: EventInfo) -> None:
        fields = event.fields
        match event.kind:
            case "frame.opened":
                self.conductor.hear_opened(fields["frame"], fields["name"], fields["parent"])
            case "frame.ended":
                self.conductor.tell_thread_ended(fields["frame"])
            case "step.started" | "step.finished" | "debug.logged" | "debug.python_waited":
                self._news.hear(event)
            case "debug.lease_ended":
                self._editor.say("the stop timed out", "stderr")
            case kind if kind in _CHANGES:
                self.tell_variables_changed()
            case _ if self.origin.debugs:
                await self.conductor.hear(event)

    def tell_variables_changed(self) -> None:
        if self._editor.client.hears_invalidated and self._conductor is not None and self._conductor.is_stopped:
            self._editor.tell("invalidated", {"areas": ["variables"]})

    def _tell_end(self, code: int) -> None:
        """Once, and nothing of the run is told after it."""
        self.is_over = True
        self._tell_gone()
        self._ended.set()
        if not self._is_restarting and not self._is_ending_told:
            self._is_ending_told = True
            self._editor.tell("exited", {"exitCode": code})
            self._editor.tell("terminated", {})

    def _tell_gone(self) -> None:
        """Whatever the client was told of the run is no more."""
        self.outputs.flush()
        self._editor.progress.end_all()
        self._editor.references.forget_all()
        for frame in self._editor.threads.close_all():
            self._editor.tell_thread(frame, "exited")

    # Its end

    async def cancel(self) -> None:
        """Ask it to end, and to clean up; the client is told when it has."""
        if self.run is None:
            self._tell_end(1)
        elif not self.is_over:
            with contextlib.suppress(NotRunning):  # it has just ended, which is told
                await self.origin.service.runs.cancel(LOCAL, self.run.id, "cancelled in the editor")

    async def kill(self) -> None:
        """End it now, and wait for that a little: its log is written then. One that is about to begin ends then."""
        self._is_wanted = False
        if self._beginning is None or self.is_over:
            return
        if self.run is not None:
            await self._kill(self.run)
        for _ in range(END_LOOKS):  # not at one go: when this process stood still, its run has not had its time yet
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._ended.wait()
                    return

    async def _kill(self, run: ActiveRun) -> None:
        with contextlib.suppress(PitstopError):
            await self.origin.service.runs.kill(LOCAL, run.id)

    async def kill_for_restart(self) -> None:
        self._is_restarting = True
        await self.kill()

    def give_way(self) -> None:
        """Another run has its place in the session: what this one still does until it is over is nobody's concern."""
        if self.is_over:
            return
        self._stop_hearing()
        self._tell_gone()
        if self._conductor is not None:
            self._conductor.fall_silent()
        if self._beginning is not None:
            self._beginning.cancel()
            self._tell_begun()

    async def leave(self, *, suspended: bool) -> None:
        """Let a run go on without us: what we have set in it is taken out, and what stands still goes on."""
        await self.wait_begun()
        async with self._editor.turn:
            debugger = self.debugger
            if debugger is None:
                return
            with contextlib.suppress(CommandRefused):
                await self._editor.breakpoints.withdraw(debugger)
                state = await debugger.say(verbs.State())
                if not suspended and (state.stops or any(frame.state == "pausing" for frame in state.frames)):
                    await debugger.say(verbs.Continue(all=True))
            self._is_left_to_itself = not suspended

    async def wait_begun(self) -> None:
        """Until a run that is about to begin has begun, or cannot."""
        if self._beginning is not None:
            await asyncio.wait([self.begun])

    async def outlive(self) -> None:
        """A run of this process that was left to itself is over when it is over, not when its client has gone. What is
        still on its way ends here, or has to come about on its server to be ended there. A server is not asked any more
        then, for there is soon nobody to ask with.
        """
        if not self.origin.is_local:
            await self.wait_begun()
            if self._beginning is not None:
                self._beginning.cancel()
                await asyncio.wait([self._beginning])
        elif self._is_left_to_itself:
            await self._ended.wait()
        elif self._beginning is not None and not self.begun.done():
            self._beginning.cancel()
        if self._keeping is not None:
            self._ended.set()  # a run that could not be killed in time is abandoned
            await asyncio.wait([self._keeping])
