"""A client that speaks the protocol over pipes, and keeps every message, both ways, to be judged in the end."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from tests.doors.dap.protocol import check_conversation
from tests.patience import PATIENCE_SECONDS, wait_until

Message = dict[str, Any]
Body = dict[str, Any]


class Refused(AssertionError):
    """The adapter answered with an error."""

    def __init__(self, response: Message) -> None:
        super().__init__(f"{response['command']}: {response.get('message')}")
        self.message: str = response.get("message", "")
        self.error: Body = response.get("body", {}).get("error", {})


class AdapterClient:
    """Starts `pitstop dap` and talks to it. `trace` has everything that was said, in the order it was said or heard.

    Whatever is said has to obey the protocol, both ways: in the end it is judged.
    """

    def __init__(self, folder: Path, *options: str, env: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.trace: list[tuple[str, Message]] = []
        self.events: list[Message] = []
        self.reverse_requests: list[Message] = []
        self.capabilities: Body = {}
        self.stderr = b""
        self._options = options
        self._env = {**os.environ, "PITSTOP_HOME": str(folder / "home"), **(env or {})}
        self._seq = 0
        self._heard = asyncio.Condition()
        self._responses: dict[int, Message] = {}
        self._taken = 0

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "pitstop",
            "dap",
            *self._options,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.folder,
            env=self._env,
            limit=2**26,
        )
        self._listening = asyncio.TaskGroup()
        await self._listening.__aenter__()
        self._listener = self._listening.create_task(self._listen())
        self._listening.create_task(self._collect_stderr())
        return self

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """The adapter hears nothing meanwhile, and has to catch up afterwards."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    async def __aexit__(self, *error: object) -> None:
        if self._process.returncode is None:
            self.close_input()
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self._process.wait()
            except TimeoutError:
                self._process.kill()
                raise AssertionError(f"the adapter did not end: {self.stderr.decode()}") from None
        await self._listening.__aexit__(None, None, None)
        if error[0] is None:
            check_conversation(self.trace)
            assert b"Traceback" not in self.stderr, self.stderr.decode()

    @property
    def pid(self) -> int:
        return self._process.pid

    # Talking

    def send(self, command: str, arguments: Body | None = None, *, seq: int | None = None) -> int:
        """Send a request and do not wait for its answer; gives its number."""
        self._seq += 1
        number = self._seq if seq is None else seq
        message: Message = {"seq": number, "type": "request", "command": command}
        if arguments is not None:
            message["arguments"] = arguments
        self.trace.append(("client", message))
        self.send_bytes(frame(json.dumps(message).encode()))
        return number

    def send_bytes(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)

    async def answer(self, number: int) -> Message:
        """The response to a request, good or bad."""
        async with asyncio.timeout(PATIENCE_SECONDS), self._heard:
            await self._heard.wait_for(lambda: number in self._responses or self._is_over())
        if number not in self._responses:
            raise AssertionError(f"the adapter has ended: {self.stderr.decode()}")
        return self._responses[number]

    async def ask(self, command: str, **arguments: Any) -> Body:
        """The body of a good response; Refused."""
        response = await self.answer(self.send(command, arguments))
        if not response["success"]:
            raise Refused(response)
        body: Body = response.get("body", {})
        return body

    async def refusal(self, command: str, **arguments: Any) -> Refused:
        """How a request is refused, which it has to be."""
        try:
            answer = await self.ask(command, **arguments)
        except Refused as refused:
            return refused
        raise AssertionError(f"{command} was answered with {answer}")

    async def refusal_of_anything(self, command: str, arguments: Body | None = None) -> Refused:
        """The same for a request that no client of good manners would send; it is not judged as one."""
        number = self.send(command, arguments)
        response = await self.answer(number)
        assert not response["success"], response
        asked = next(i for i, (who, each) in enumerate(self.trace) if who == "client" and each["seq"] == number)
        self.trace[asked] = ("client", {"seq": number, "type": "request", "command": "threads"})
        return Refused(response)

    async def answer_to_raw(self, command: str, more: Message, *, seq: int | None = None) -> Message:
        """The response to a request with the fields of `more`, however its client writes them."""
        self._seq += 1
        number = self._seq if seq is None else seq
        self.trace.append(("client", {"seq": number, "type": "request", "command": "threads"}))  # it is not judged
        self.send_bytes(frame(json.dumps({"seq": number, "type": "request", "command": command, **more}).encode()))
        return await self.answer(number)

    async def reverse_request(self) -> Message:
        """The next thing that the adapter asks of its client."""
        async with asyncio.timeout(PATIENCE_SECONDS), self._heard:
            await self._heard.wait_for(lambda: bool(self.reverse_requests) or self._is_over())
        return self.reverse_requests.pop(0)

    def respond(self, request: Message, *, success: bool = True, **more: Any) -> None:
        """Answer what the adapter has asked for."""
        self._seq += 1
        about = {"request_seq": request["seq"], "success": success, "command": request["command"]}
        message = {"seq": self._seq, "type": "response", **about, "body": {}, **more}
        self.trace.append(("client", message))
        self.send_bytes(frame(json.dumps(message).encode()))

    async def event(self, name: str, fits: Callable[[Body], bool] = lambda body: True) -> Body:
        """The next event of this name that nobody was given yet; those before it are passed over."""

        def position() -> int | None:
            for index in range(self._taken, len(self.events)):
                if self.events[index]["event"] == name and fits(self.events[index].get("body", {})):
                    return index
            return None

        try:
            async with asyncio.timeout(PATIENCE_SECONDS), self._heard:
                await self._heard.wait_for(lambda: position() is not None or self._is_over())
        except TimeoutError:
            raise AssertionError(f"no {name}; heard {self.events[self._taken :]}; {self.stderr.decode()}") from None
        index = position()
        assert index is not None, f"the adapter has ended without {name}: {self.stderr.decode()}"
        self._taken = index + 1
        body: Body = self.events[index].get("body", {})
        return body

    def events_named(self, name: str) -> list[Body]:
        return [event.get("body", {}) for event in self.events if event["event"] == name]

    def output(self, *categories: str) -> str:
        return "".join(each["output"] for each in self.events_named("output") if each["category"] in categories)

    # The usual conversation

    async def initialize(self, **more: Any) -> Body:
        self.capabilities = await self.ask("initialize", **{"adapterID": "pitstop", **more})
        return self.capabilities

    async def launch(
        self,
        program: str | Path,
        *,
        lines: tuple[int, ...] = (),
        breakpoints: list[Body] | None = None,
        functions: Sequence[str] = (),
        filters: tuple[str, ...] = (),
        initialize: Body | None = None,
        source: str | None = None,
        **more: Any,
    ) -> list[Body]:
        """All that an editor says until a run begins; gives its breakpoints, those in `source`, as they are told."""
        if not self.capabilities:
            await self.initialize(**(initialize or {}))
        path = str(self.folder / program)
        launching = self.send("launch", {"program": path, **more})
        await self._initialized(launching)
        wanted = breakpoints if breakpoints is not None else [{"line": line} for line in lines]
        file = path if source is None else str(self.folder / source)
        told = (await self.ask("setBreakpoints", source={"path": file}, breakpoints=wanted))["breakpoints"]
        if functions:
            await self.ask("setFunctionBreakpoints", breakpoints=[{"name": name} for name in functions])
        await self.ask("setExceptionBreakpoints", filters=list(filters))
        await self.ask("configurationDone")
        response = await self.answer(launching)
        assert response["success"], response
        result: list[Body] = told
        return result

    async def _initialized(self, launching: int) -> None:
        """Wait for `initialized`; a launch that is refused has none."""
        async with asyncio.timeout(PATIENCE_SECONDS), self._heard:
            await self._heard.wait_for(lambda: bool(self.events_named("initialized")) or launching in self._responses)
        assert self.events_named("initialized"), self._responses[launching]
        await self.event("initialized")

    async def stopped(self) -> Body:
        return await self.event("stopped")

    async def stack(self, stop: Body, **more: Any) -> list[Body]:
        frames: list[Body] = (await self.ask("stackTrace", threadId=stop["threadId"], **more))["stackFrames"]
        return frames

    async def scopes(self, stop: Body) -> dict[str, Body]:
        frames = await self.stack(stop, startFrame=0, levels=1)
        return {each["name"]: each for each in (await self.ask("scopes", frameId=frames[0]["id"]))["scopes"]}

    async def variables(self, reference: int, **more: Any) -> dict[str, Body]:
        found = await self.ask("variables", variablesReference=reference, **more)
        return {each["name"]: each for each in found["variables"]}

    async def state(self, stop: Body) -> dict[str, Body]:
        return await self.variables((await self.scopes(stop))["State"]["variablesReference"])

    async def evaluate(self, expression: str, frame: int | None = None, context: str = "repl") -> str:
        arguments: Body = {"expression": expression, "context": context}
        if frame is not None:
            arguments["frameId"] = frame
        result: str = (await self.ask("evaluate", **arguments))["result"]
        return result

    async def ended(self) -> int:
        """Wait for the end of the run, as it has to be told; gives the exit code."""
        code: int = (await self.event("exited"))["exitCode"]
        await self.event("terminated")
        return code

    # Its end

    @contextlib.contextmanager
    def not_reading(self) -> Iterator[None]:
        """As if the client were busy: what is written to it has to wait."""
        transport = self._process._transport.get_pipe_transport(1)  # type: ignore[attr-defined]
        transport.pause_reading()
        try:
            yield
        finally:
            transport.resume_reading()

    def stop_reading(self) -> None:
        """As if the client were no more: whatever is written to it fails."""
        self._listener.cancel()
        transport = self._process._transport.get_pipe_transport(1)  # type: ignore[attr-defined]
        transport.close()

    def close_input(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    async def leave(self, **more: Any) -> int:
        """Disconnect, and wait for the adapter to end."""
        await self.ask("disconnect", **more)
        return await self.exit_code()

    def kill(self) -> None:
        """As some editors do once they have left, if it is still there."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def exit_code(self) -> int:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self._process.wait()

    # Listening

    def _is_over(self) -> bool:
        assert self._process.stdout is not None
        return self._process.stdout.at_eof()

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        stream = self._process.stdout
        while header := await stream.readline():
            assert header.startswith(b"Content-Length: ") and header.endswith(b"\r\n"), header
            assert await stream.readline() == b"\r\n"
            message: Message = json.loads(await stream.readexactly(int(header[16:])))
            async with self._heard:
                self.trace.append(("adapter", message))
                if message["type"] == "event":
                    self.events.append(message)
                elif message["type"] == "request":
                    self.reverse_requests.append(message)
                else:
                    assert message["request_seq"] not in self._responses, f"answered twice: {message}"
                    self._responses[message["request_seq"]] = message
                self._heard.notify_all()
        async with self._heard:
            self._heard.notify_all()

    async def _collect_stderr(self) -> None:
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(4096):
            self.stderr += chunk


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


async def written(file: Path, end: str = "") -> str:
    """What a step writes to a file, once it has. A file tells nobody, so it is looked at again and again."""

    def is_written() -> bool:
        text = _text_of(file)
        return text is not None and text.endswith(end)

    await wait_until(is_written, f"nobody has written {file}")
    return _text_of(file) or ""


def _text_of(file: Path) -> str | None:
    return file.read_text() if file.exists() else None


async def wait_run_ended(home: Path) -> None:
    """Until the end of a run is kept there, whoever is told of it."""
    await wait_until(lambda: any('"run.ended"' in log.read_text() for log in home.glob("runs/*/events.jsonl")))


async def gone(pid: int) -> bool:
    """Whether a process is no more, once it had time to be taken off the list."""
    return await comes_true(lambda: not Path(f"/proc/{pid}").exists())


async def comes_true(is_so: Callable[[], bool]) -> bool:
    """Whether it is so before long. Nobody tells when, so it is looked at again and again."""
    await wait_until(is_so)
    return True
