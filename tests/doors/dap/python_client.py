"""A client of a Python debugger that waits at a port: what an editor says to it when it attaches."""

import asyncio
import json
from contextlib import suppress
from typing import Any, Self

from tests.patience import PATIENCE_SECONDS

Body = dict[str, Any]


class PythonClient:
    """Attaches to debugpy. `events` has what it tells until it is gone."""

    def __init__(self, host: str, port: int) -> None:
        self.events: list[tuple[str, Body]] = []
        self._address = host, port
        self._responses: dict[int, Body] = {}
        self._heard = asyncio.Condition()
        self._seq = 0
        self._taken = 0
        self._is_over = False

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(*self._address)
        self._listening = asyncio.TaskGroup()
        await self._listening.__aenter__()
        self._listener = self._listening.create_task(self._listen())
        await self.ask("initialize", adapterID="debugpy", clientID="test")
        attaching = self._send("attach", {"justMyCode": True})
        await self.event("initialized")
        await self.ask("configurationDone")
        await self._answer(attaching)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._listener.cancel()
        self._writer.close()
        await self._listening.__aexit__(None, None, None)

    async def ask(self, command: str, **arguments: Any) -> Body:
        response = await self._answer(self._send(command, arguments))
        assert response["success"], response
        body: Body = response.get("body") or {}
        return body

    async def event(self, name: str) -> Body:
        """The next event of this name that nobody was given yet."""

        def position() -> int | None:
            return next((at for at in range(self._taken, len(self.events)) if self.events[at][0] == name), None)

        async with asyncio.timeout(PATIENCE_SECONDS), self._heard:
            await self._heard.wait_for(lambda: position() is not None or self._is_over)
        at = position()
        assert at is not None, f"the debugger is gone without {name}: {self.events}"
        self._taken = at + 1
        return self.events[at][1]

    async def stopped_in(self) -> tuple[int, Body]:
        """The thread that has stopped, and its innermost frame."""
        thread: int = (await self.event("stopped"))["threadId"]
        frames = (await self.ask("stackTrace", threadId=thread))["stackFrames"]
        return thread, frames[0]

    async def variables(self, frame: int) -> dict[str, str]:
        (scope, *_) = (await self.ask("scopes", frameId=frame))["scopes"]
        found = await self.ask("variables", variablesReference=scope["variablesReference"])
        return {each["name"]: each["value"] for each in found["variables"]}

    def stops(self) -> int:
        return [name for name, _ in self.events].count("stopped")

    def _send(self, command: str, arguments: Body) -> int:
        self._seq += 1
        body = json.dumps({"seq": self._seq, "type": "request", "command": command, "arguments": arguments}).encode()
        self._writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        return self._seq

    async def _answer(self, number: int) -> Body:
        async with asyncio.timeout(PATIENCE_SECONDS), self._heard:
            await self._heard.wait_for(lambda: number in self._responses or self._is_over)
        return self._responses[number]

    async def _listen(self) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            length = 0
            while header := await self._reader.readline():
                if header.startswith(b"Content-Length:"):
                    length = int(header.partition(b":")[2])
                elif header == b"\r\n":
                    await self._take(json.loads(await self._reader.readexactly(length)))
        async with self._heard:
            self._is_over = True
            self._heard.notify_all()

    async def _take(self, message: Body) -> None:
        async with self._heard:
            if message["type"] == "event":
                self.events.append((message["event"], message.get("body") or {}))
            elif message["type"] == "response":
                self._responses[message["request_seq"]] = message
            self._heard.notify_all()
