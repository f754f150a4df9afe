"""One command in a container of its own, from the pull of its image until nothing of it is left."""

import asyncio
import secrets
import socket
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pitstop.engine.executor import LIVE_INPUT, Command, CommandResult, WorkspaceRef
from pitstop.engine.workspace_files import command_file_name
from pitstop.errors import WorkspaceLost
from pitstop.executors.machine.containers.attached import attach, drain, feed
from pitstop.executors.machine.containers.config import NO_NETWORK, ContainerRequest, container_config
from pitstop.executors.machine.containers.confined import protected_from
from pitstop.executors.machine.containers.engine import (
    NOT_THERE,
    Answer,
    ContainerEngine,
    EngineGone,
    EngineInfo,
    EngineRefused,
    ask_exit,
)
from pitstop.executors.machine.containers.forwarding import with_forwards
from pitstop.executors.machine.containers.images import Images
from pitstop.executors.machine.containers.labels import remove_container
from pitstop.executors.machine.containers.log import CommandLog
from pitstop.executors.machine.containers.ownership import keep_owner
from pitstop.executors.machine.containers.recording import Record, ask_exit_for_recorder, start_recorder
from pitstop.executors.machine.containers.result import (
    TAIL_BYTES,
    Ending,
    NotRun,
    Seen,
    result_of,
    why_not_run,
    why_nothing_ran,
)
from pitstop.executors.machine.containers.services import Services, ServicesOfCommand
from pitstop.executors.machine.processes.argv import argv_of
from pitstop.executors.machine.processes.supervisors import Supervised

DRAIN_SECONDS = 60.0  # for what the engine still passes on when the container has ended; most often that is nothing
RECONNECT_SECONDS = 30.0
RETRY_SECONDS = 0.1
KILL_AGAIN_SECONDS = 1.0
ENGINE_GONE = "the container engine became unavailable while the command ran, so its result is unknown"
NOT_TOLD = "the container engine does not report how the command ended"
CUT_OFF = "the container engine did not deliver the end of the command's output"
OUT_OF_TOUCH = "the container engine was unavailable for a moment: output of the command is missing here"
NOT_RECORDED = "the process that records it was killed, so its output is not complete"
NO_CONTAINER = {"Running": False}
REMOVED = "its container was removed by another program"


class Yard(Struct, frozen=True):
    """What containers are made with: an engine, what it is like, its images, and the services beside commands."""

    engine: ContainerEngine
    info: EngineInfo
    images: Images
    services: Services


class ContainerCommand:
    """A command that was started. `run` is its life, as a task of the executor; `ended` has its result."""

    def __init__(
        self, command: Command, image: str, workspace: WorkspaceRef, labels: Mapping[str, str], record: Record
    ) -> None:
        self.name = f"pitstop-{workspace.id}-{secrets.token_hex(4)}"
        self.log = CommandLog(f"{workspace.control}/logs/{command_file_name(command.key)}")
        self._record = record
        self._recorder: Supervised | None = None
        self.ended: asyncio.Future[CommandResult] = asyncio.get_running_loop().create_future()
        self._command = command
        self._image_name = image
        self.workspace = workspace.id
        self._workspace = workspace
        self._labels = labels
        self._seen = Seen(started_at=time.time())
        self._argv: tuple[str, ...] = ()
        self._beside = ServicesOfCommand(())
        self._preparing: asyncio.Task[Any] | None = None
        self._may_have_run = False
        self._is_running = False
        self._is_settled = asyncio.Event()  # whether it runs
        self._is_told_to_end = asyncio.Event()
        self._kill_at = float("inf")
        self._input: asyncio.Queue[bytes | None] = asyncio.Queue(1)  # what was written to it; None is the end
        self._is_input_closed = command.stdin != LIVE_INPUT

    async def is_joinable(self) -> bool:
        """Whether others can come to it in its container; one that is just being started is waited for."""
        if self._may_have_run:
            await self._is_settled.wait()
        return self._is_running

    async def wait_ended(self) -> CommandResult:
        return await asyncio.shield(self.ended)

    async def write(self, data: bytes | None) -> None:
        """More live input, or None for its end. What comes after that, or after the end of the command, is dropped."""
        if self._is_input_closed:
            return
        self._is_input_closed = data is None
        putting = asyncio.get_running_loop().create_task(self._input.put(data), name="input")
        either: list[asyncio.Future[Any]] = [putting, self.ended]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            putting.cancel()

    async def _chunks_of_input(self) -> AsyncIterator[bytes]:
        if isinstance(self._command.stdin, bytes):
            yield self._command.stdin
            return
        while (data := await self._input.get()) is not None:
            yield data

    def cancel(self, grace_seconds: float, ending: Ending) -> None:
        """End it: what is being prepared at once, what runs by TERM, and by KILL when the grace is over."""
        if self.ended.done():
            return
        self._seen = replace(self._seen, ending=self._seen.ending or ending)
        self._end_within(grace_seconds)
        if self._preparing is not None:
            preparing, self._preparing = self._preparing, None  # once: a second time would break off the cleaning up
            preparing.cancel()

    def lose(self, reason: str) -> None:
        """It is not ours any more: end it, and tell that it was lost."""
        if not self.ended.done():
            self._seen = replace(self._seen, is_lost=True, problem=reason)
            self.cancel(0.0, "cancelled")

    async def run(self, yard: Yard, cwd: str) -> None:
        """Run to the end, whatever that is; nothing of it is left then. It is ended by `cancel`."""
        try:
            async with AsyncExitStack() as stack:
                connection = await self._prepare(yard, cwd, stack)
                if connection is not None:
                    try:
                        await self._watch(yard, connection)
                    finally:
                        await self._keep_owner(yard)
        except EngineGone as error:
            if self._may_have_run:
                self._seen = replace(self._seen, is_lost=True, problem=f"{ENGINE_GONE}: {error}")
            else:
                self._refuse(str(error))
        except EngineRefused as error:
            if self._may_have_run:
                self._seen = replace(self._seen, is_lost=True, problem=f"{NOT_TOLD}: {error.message}")
            else:
                self._refuse(f"could not create a container of image {self._image_name}: {error.message}")
        except NotRun as error:
            self._refuse(error.reason, error.exit_code)
        except OSError as error:  # of this machine: a disk is full, or the workspace is not there any more
            self._refuse(f"{error.filename or 'its log'}: {error.strerror}")
        finally:
            self._finish()

    def refuse(self, reason: str) -> None:
        """End it before it began."""
        self._refuse(reason)
        self._finish()

    def _refuse(self, reason: str, exit_code: int | None = NotRun("").exit_code) -> None:
        self._seen = replace(self._seen, exit_code=exit_code, problem=self._seen.problem or reason)
        with suppress(OSError):
            self.log.say(reason)

    def _finish(self) -> None:
        self._seen = replace(self._seen, ended_at=self._seen.ended_at or time.time())
        self.log.close()
        self._is_running = False
        self._is_settled.set()
        if not self.ended.done():
            self.ended.set_result(result_of(self._seen))

    # --- Before it runs

    async def _prepare(self, yard: Yard, cwd: str, stack: AsyncExitStack) -> socket.socket | None:
        """A connection to the container, which is made but not started; None if it was cancelled before that.

        The stack gets what has to be undone at the end.
        """
        task = self._preparing = asyncio.current_task()
        try:
            if not self._is_told_to_end.is_set():
                return await self._make(yard, cwd, stack)
        except asyncio.CancelledError:
            if task is None or not self._is_told_to_end.is_set():
                raise
            task.uncancel()
        finally:
            self._preparing = None
        return None

    async def _make(self, yard: Yard, cwd: str, stack: AsyncExitStack) -> socket.socket:
        command, options = self._command, self._command.container
        protected = protected_from(command, self._workspace)
        image = await yard.images.get(self._image_name, options.pull, options.platform, self.log.say)
        self._seen = replace(self._seen, digest=image.digest)
        self._beside = await stack.enter_async_context(
            yard.services.beside(options.services, self._workspace.id, self._labels, self.log.say)
        )
        self._argv = command.argv if command.script is None else argv_of(command, self.log.path)
        if command.forwards:
            self._argv = with_forwards(self._argv, command.forwards, self._workspace.control)
        request = ContainerRequest(
            image=image,
            argv=self._argv,
            cwd=cwd,
            env={"PITSTOP_EXECUTION_KEY": command.key, **command.env},
            options=options,
            labels=self._labels,
            has_input=command.stdin is not None,
            protected=protected,
            networks=self._beside.networks if command.network == "all" else (NO_NETWORK,),
            most_processes=command.pids,
        )
        stack.push_async_callback(remove_container, yard.engine, self.name)
        await make_container(yard, self.name, request, self._workspace)
        connection = await attach(yard.engine, self.name, has_input=request.has_input)
        stack.callback(connection.close)
        return connection

    # --- While it runs

    async def _watch(self, yard: Yard, connection: socket.socket) -> None:
        problem: Exception | None = None
        async with asyncio.TaskGroup() as group:
            tasks: list[asyncio.Task[None]] = []
            if self._command.stdin is not None:
                tasks.append(group.create_task(feed(connection, self._chunks_of_input()), name="input"))
            try:
                async with AsyncExitStack() as stack:
                    asked = await ask_exit(yard.engine, yard.info, self.name, stack)
                    told = await ask_exit_for_recorder(yard.engine, yard.info, self.name, stack)
                    recorder = self._start_recorder(yard, connection, *told)
                    tasks.append(heard := group.create_task(self._hear(recorder, connection), name="output"))
                    await self._start(yard)
                    tasks.append(group.create_task(self._end_when_told(yard.engine), name="end"))
                    exit_code = await self._wait_exit(yard, asked)
                while exit_code is None:
                    heard = group.create_task(self._hear_again(yard), name="output, again")
                    tasks.append(heard)
                    exit_code = await self._wait_exit(yard)
                await self._see_end(yard, exit_code, heard)
            except (EngineGone, EngineRefused, NotRun) as error:
                problem = error
            finally:
                for task in tasks:
                    task.cancel()
        if problem is not None:
            raise problem

    async def _start(self, yard: Yard) -> None:
        self._may_have_run = True
        try:
            await yard.engine.ask("POST", f"/containers/{self.name}/start")
        except EngineRefused as error:
            raise NotRun(f"could not start the container of image {self._image_name}: {error.message}") from error
        except EngineGone as gone:
            await self._wait_back(yard, gone)
        self._is_running = True
        self._is_settled.set()

    def _start_recorder(self, yard: Yard, *connections: socket.socket) -> Supervised:
        try:
            self._recorder = start_recorder(self._record, yard.engine, self.name, self._seen, connections)
        except (OSError, WorkspaceLost) as error:
            self._seen = replace(self._seen, is_lost=isinstance(error, WorkspaceLost))
            raise NotRun(f"could not start the process that records it: {error}") from error
        if self._is_told_to_end.is_set():
            self._recorder.disown()
        return self._recorder

    async def _hear(self, recorder: Supervised, connection: socket.socket) -> None:
        """Notice what is recorded, until that is all. Cancelling ends the recorder."""
        try:
            while not recorder.ended.done():
                size = self.log.size
                self.log.notice_growth()
                await recorder.wait_grown(size)
        finally:
            recorder.cancel(0.0, "cancelled")
            end = await recorder.wait_ended()
        if end is not None:
            self._seen = replace(self._seen, ended_at=end.ended_at, problem=self._seen.problem or end.reason)
            if end.reason:
                self._end_within(0.0)
        has_more = await drain(connection)  # else the engine would wait for us, and not end it
        if has_more and not self._seen.problem:
            self._seen = replace(self._seen, is_lost=True, problem=NOT_RECORDED)

    async def _hear_again(self, yard: Yard) -> None:
        """Take up the connection that was lost with the engine."""
        attaching = attach(yard.engine, self.name, has_input=False)
        with suppress(EngineGone, EngineRefused, NotRun), await attaching as connection:
            await self._hear(self._start_recorder(yard, connection), connection)

    async def _see_end(self, yard: Yard, exit_code: int, heard: asyncio.Task[None]) -> None:
        """Wait for the last that it said, and see why it ended."""
        await asyncio.wait([heard], timeout=DRAIN_SECONDS)
        if not heard.done():
            heard.cancel()
            await asyncio.wait([heard])
            with suppress(OSError):
                self.log.say(CUT_OFF)
        state = await self._state(yard.engine)
        self._seen = replace(
            self._seen,
            exit_code=exit_code,
            out_of_memory=bool(state and state.get("OOMKilled")),
            problem=self._seen.problem or (REMOVED if state is None and not self._seen.ending else ""),
            hint=await self._beside.why_dead() if exit_code else "",
        )
        not_run = why_not_run(exit_code, self.log.tail(TAIL_BYTES)) if exit_code else None
        if not_run is not None:
            image = await yard.images.get(self._image_name, "never", None, self.log.say)
            reason = why_nothing_ran(not_run[1], self._argv[0], image.name, is_script=self._command.script is not None)
            if "format" in not_run[1] and image.arch != yard.info.arch:
                reason = f"image {image.name} is for {image.arch}, but this machine is {yard.info.arch}: set `platform`"
            raise NotRun(reason, not_run[0])

    async def _wait_exit(self, yard: Yard, asked: Answer | None = None) -> int | None:
        """The exit code; None if the engine went away and is back, and it still runs."""
        try:
            waiting = asked.read_json() if asked else yard.engine.ask("POST", f"/containers/{self.name}/wait")
            ended = await waiting
        except EngineRefused as error:
            raise NotRun(REMOVED, None) if error.status == NOT_THERE else error from error
        except EngineGone as gone:
            await self._wait_back(yard, gone)
            return None
        return int(ended["StatusCode"])

    async def _wait_back(self, yard: Yard, gone: EngineGone) -> None:
        """Wait until the engine is back and the command still runs. What ended meanwhile is lost: EngineGone.

        The exit code that is told of such a command may be anything, also 0.
        """
        deadline = time.monotonic() + RECONNECT_SECONDS
        state = None
        while state is None and time.monotonic() < deadline:
            await asyncio.sleep(RETRY_SECONDS)
            with suppress(EngineGone, EngineRefused):  # one that is just starting refuses what it has not found yet
                state = await self._state(yard.engine) or NO_CONTAINER
        if state is None:
            raise gone
        if not yard.info.is_survived or not state["Running"]:
            raise EngineGone("it is back, but the container has ended") from gone
        self.log.say(OUT_OF_TOUCH)

    async def _state(self, engine: ContainerEngine) -> dict[str, Any] | None:
        found = await engine.find(f"/containers/{self.name}/json")
        return None if found is None else found["State"]

    async def _keep_owner(self, yard: Yard) -> None:
        if self._command.container.user is not None:
            labels, since = self._labels, self._seen.started_at
            problem = await keep_owner(yard.engine, yard.info, self._workspace, self._image_name, labels, since=since)
            if problem:
                self.log.say(f"files that it wrote still belong to {self._command.container.user}: {problem}")

    # --- Ending it

    def _end_within(self, grace_seconds: float) -> None:
        self._kill_at = min(self._kill_at, time.monotonic() + grace_seconds)
        self._is_told_to_end.set()
        if self._recorder is not None:
            self._recorder.disown()

    async def _end_when_told(self, engine: ContainerEngine) -> None:
        await self._is_told_to_end.wait()
        if time.monotonic() < self._kill_at:
            await self._signal(engine, "TERM")
            await self._signal(engine, "CONT")  # one that is stopped could not act on TERM
        while (left := self._kill_at - time.monotonic()) > 0:
            self._is_told_to_end.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._is_told_to_end.wait()
        while True:  # until its end is seen: an engine that is away, or has just come back, does not do it
            await self._signal(engine, "KILL")
            await asyncio.sleep(KILL_AGAIN_SECONDS)

    async def _signal(self, engine: ContainerEngine, name: str) -> None:
        with suppress(EngineGone, EngineRefused):  # it has ended by itself, or its engine has
            await engine.ask("POST", f"/containers/{self.name}/kill", {"signal": name})


async def make_container(yard: Yard, name: str, request: ContainerRequest, workspace: WorkspaceRef) -> None:
    """Create it under that name, on every network that it needs; it is not started."""
    query = {"name": name, "platform": request.options.platform}
    config = container_config(request, workspace, yard.info)
    await yard.engine.make("/containers/create", query, config)
    for network in request.networks[1:]:
        await yard.engine.ask("POST", f"/networks/{network}/connect", body={"Container": name})
