import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
import websockets
from starlette.websockets import WebSocket
from websockets.asyncio.client import ClientConnection, connect

from pitstop.doors.http.gate.limits import Limits
from pitstop.doors.http.streams.shell_sessions import ShellSession, ShellSessions, ShellTokens, Ticket
from pitstop.errors import AccessDenied, StaleStop, TooMany, Unknown
from pitstop.service.caller import LOCAL
from tests.doors.http.bench import API, PATIENT, Bench
from tests.patience import PATIENCE_SECONDS, wait_until

TICKET = Ticket("run", 1, "shell", "somebody", 0.0)
FLOW = "steps: [{id: a, run: test -f ready, env: {WORD: here}}, {id: b, run: 'true'}]"


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home without start files: those of whoever runs the tests may take their time."""
    monkeypatch.setenv("HOME", str(tmp_path))


class Terminal:
    """A client of the shell socket, which keeps all that it was shown."""

    def __init__(self, socket: ClientConnection, session: str) -> None:
        self.socket = socket
        self.session = session
        self.shown = b""

    async def type(self, text: str | bytes) -> None:
        await self.socket.send(text.encode() if isinstance(text, str) else text)

    async def wait(self, text: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while text.encode() not in self.shown:
                    said = await self.socket.recv()
                    assert isinstance(said, bytes)
                    self.shown += said
        except TimeoutError:
            raise AssertionError(f"{text!r} was not shown, but {self.shown[-1000:]!r}") from None

    async def wait_closed(self) -> int:
        """The code that the server closes with."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            try:
                while True:
                    said = await self.socket.recv()
                    self.shown += said if isinstance(said, bytes) else b""
            except websockets.ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd is not None else 0


async def failed(bench: Bench) -> tuple[str, int]:
    """A run that stands at a failed step, and its stop."""
    run = await bench.start(FLOW, debug={"stop_on_error": True})
    (stop,) = await bench.wait_stops(run["id"])
    return run["id"], stop["id"]


async def token(bench: Bench, run: str, stop: int, mode: str = "shell") -> str:
    made = await bench.post(f"/runs/{run}/shell-tokens", 201, stop=stop, mode=mode)
    return str(made["token"])


@asynccontextmanager
async def connected(bench: Bench, run: str, who: str | None = None, **query: Any) -> AsyncIterator[Terminal]:
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    url = f"ws://{urlsplit(bench.url).netloc}{API}/runs/{run}/shell?{asked}"
    headers = {"Authorization": f"Bearer {who or bench.token}"}
    line = await narrow_line(bench)
    async with connect(url, additional_headers=headers, max_size=None, sock=line, **PATIENT) as shell:
        greeting = json.loads(await shell.recv())
        yield Terminal(shell, greeting["session"])


async def narrow_line(bench: Bench) -> socket.socket:
    """A connection that keeps little of what its client does not read: the system's own may be larger than a flood."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
    line.setblocking(False)
    await asyncio.get_running_loop().sock_connect(line, ("127.0.0.1", bench.port))
    return line


@asynccontextmanager
async def shell(bench: Bench) -> AsyncIterator[tuple[Terminal, str, int]]:
    run, stop = await failed(bench)
    async with connected(bench, run, token=await token(bench, run, stop)) as terminal:
        yield terminal, run, stop


async def test_a_shell_is_where_the_step_works_with_its_environment(bench: Bench) -> None:
    async with shell(bench) as (terminal, _, _):
        await terminal.type("echo w=$WORD; pwd; stty size\n")
        await terminal.wait("w=here\r\n")
        await terminal.wait(f"{bench.folder}\r\n")
        await terminal.wait("24 80\r\n")


async def test_the_size_follows_the_client(bench: Bench) -> None:
    async with shell(bench) as (terminal, _, _):
        await terminal.socket.send(json.dumps({"resize": {"rows": 50, "cols": 132}}))
        for nonsense in ("{", "{}", '{"resize": {"rows": 0}}', '{"resize": 1}', "[]"):
            await terminal.socket.send(nonsense)
        await terminal.type("stty size\n")
        await terminal.wait("50 132\r\n")


async def test_control_c_ends_what_runs_in_the_shell_and_not_the_shell(bench: Bench) -> None:
    async with shell(bench) as (terminal, _, _):
        await terminal.type("sh -c \"echo be''gun; exec sleep 100\"\n")  # begun when it has the terminal, not before
        await terminal.wait("begun\r\n")
        await terminal.type(b"\x03")
        await terminal.type("echo still h''ere\n")
        await terminal.wait("still here")


async def test_the_shell_ends_when_it_is_left(bench: Bench) -> None:
    async with shell(bench) as (terminal, _, _):
        await terminal.type("exit\n")
        assert await terminal.wait_closed() == 1000


async def test_ten_megabytes_are_pasted_whole(bench: Bench) -> None:
    size = 10 * 1024 * 1024
    line = b"x" * 99 + b"\n"
    async with shell(bench) as (terminal, _, _):
        await terminal.type(f"stty -echo -icanon; echo re''ady; head -c {size} | wc -c; echo do''ne\n")
        await terminal.wait("ready")
        await terminal.type((line * (size // len(line) + 1))[:size])
        await terminal.wait("done")
        assert str(size).encode() in terminal.shown


async def test_a_client_that_reads_slowly_holds_the_program_up_and_loses_nothing(bench: Bench) -> None:
    size, flooded = 20_000_000, bench.folder / "flooded"
    async with shell(bench) as (terminal, _, _):
        await terminal.type("stty -echo -onlcr; echo re''ady\n")
        await terminal.wait("ready")
        await terminal.type(f"head -c {size} /dev/zero | tr '\\0' z; touch flooded\n")
        read = 0
        async with asyncio.timeout(PATIENCE_SECONDS):
            while read < size:
                said = await terminal.socket.recv()
                read += bytes(said if isinstance(said, bytes) else b"").count(b"z")
                assert read > size / 2 or not flooded.exists()
            while not flooded.exists():
                await terminal.socket.recv()
        assert read == size


# Commands to Pitstop


async def test_a_file_is_repaired_and_the_step_tried_again_from_inside_the_shell(bench: Bench) -> None:
    async with shell(bench) as (terminal, run, _):
        await terminal.type("touch ready; echo rep''aired\n")
        await terminal.wait("repaired")
        await terminal.type("@retry\r")
        assert await terminal.wait_closed() == 1000
    ended = await bench.wait_ended(run)
    assert (ended["status"], ended["intervened"]) == ("passed", True)
    assert b"the run resumes" in terminal.shown
    assert b"command not found" not in terminal.shown


async def test_the_shell_tells_where_the_run_stands_and_goes_on(bench: Bench) -> None:
    async with shell(bench) as (terminal, _, stop):
        await terminal.type("@status\r")
        await terminal.wait(f"* stop {stop}: error a")
        await terminal.type("@help\r")
        await terminal.wait("@resume")
        await terminal.type("echo still h''ere\n")
        await terminal.wait("still here")


async def test_a_command_that_is_not_possible_now_says_why(bench: Bench) -> None:
    async with shell(bench) as (terminal, _, _):
        await terminal.type("@skip\r")
        await terminal.wait("skip is not possible at stop")
        await terminal.type("echo still h''ere\n")
        await terminal.wait("still here")


async def test_other_words_with_an_at_reach_the_shell(bench: Bench) -> None:
    async with shell(bench) as (terminal, _, _):
        await terminal.type("@retired() { echo called $1; }\r")
        await terminal.type("@retired one\r")
        await terminal.wait("called one")
        await terminal.type("echo @retry\r")
        await terminal.wait("\r@retry\r\n")


# Tokens, and coming back


@pytest.mark.parametrize("given", ["", "nonsense"])
async def test_no_shell_without_a_token(bench: Bench, given: str) -> None:
    run, _ = await failed(bench)
    with pytest.raises(websockets.InvalidStatus) as refused:
        async with connected(bench, run, token=given):
            pass
    assert refused.value.response.status_code == 403


async def test_a_token_opens_one_shell_of_its_run_for_who_made_it(bench: Bench) -> None:
    run, stop = await failed(bench)
    other_run, _ = await failed(bench)
    other = (await bench.post("/tokens", 201, name="other", role="operator"))["token"]
    used = await token(bench, run, stop)
    async with connected(bench, run, token=used):
        pass
    for where, who, given in (
        (run, None, used),
        (other_run, None, await token(bench, run, stop)),
        (run, other, await token(bench, run, stop)),
    ):
        with pytest.raises(websockets.InvalidStatus) as refused:
            async with connected(bench, where, who, token=given):
                pass
        assert refused.value.response.status_code == 403


async def test_no_token_for_a_stop_that_is_over(bench: Bench) -> None:
    run, stop = await failed(bench)
    given = await token(bench, run, stop)
    await bench.post(f"/runs/{run}/debug/retry", stop=stop)
    await bench.wait_stops(run, above=stop)

    assert (await bench.post(f"/runs/{run}/shell-tokens", 409, stop=stop))["code"] == "refused.stale_stop"
    with pytest.raises(websockets.InvalidStatus) as refused:
        async with connected(bench, run, token=given):
            pass
    assert refused.value.response.status_code == 409


async def test_who_comes_back_finds_the_same_shell_with_its_screen(bench: Bench) -> None:
    run, stop = await failed(bench)
    async with connected(bench, run, token=await token(bench, run, stop)) as first:
        await first.type("MINE=kept; echo on the scr''een; (sleep 0.3; echo meanw''hile) &\n")
        await first.wait("on the screen")
        session = first.session
    async with connected(bench, run, session=session, rows=30, cols=100) as second:
        await second.wait("on the screen")
        await second.wait("meanwhile")
        await second.type("echo $MINE; stty size\n")
        await second.wait("kept\r\n")
        await second.wait("30 100\r\n")
    other = (await bench.post("/tokens", 201, name="other", role="operator"))["token"]
    with pytest.raises(websockets.InvalidStatus):
        async with connected(bench, run, other, session=session):
            pass


async def test_a_shell_that_nobody_comes_back_to_is_closed(tmp_path: Path) -> None:
    async with Bench(tmp_path, Limits(shell_idle_seconds=0.2)).serving() as bench:
        run, stop = await failed(bench)
        async with connected(bench, run, token=await token(bench, run, stop)) as terminal:
            await terminal.type("trap 'touch left' EXIT; echo re''ady\n")
            await terminal.wait("ready")
        await wait_until((bench.folder / "left").exists)
        with pytest.raises(websockets.InvalidStatus, match="404"):
            async with connected(bench, run, session=terminal.session):
                pass


async def test_a_shell_is_not_closed_while_somebody_is_on_their_way_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Bench(tmp_path, Limits(shell_idle_seconds=0.01)).serving() as bench:
        accept = WebSocket.accept

        async def accept_slowly(self: WebSocket) -> None:
            for _ in range(10):  # much longer than nobody may be there
                await bench.get("/me")
            await accept(self)

        monkeypatch.setattr(WebSocket, "accept", accept_slowly)
        async with shell(bench) as (terminal, _, _):
            await terminal.type("echo h''ere\n")
            await terminal.wait("here")


class StubbornTerminal:
    """A terminal that says what it is given, and takes its time to take a word and to close."""

    def __init__(self) -> None:
        self.closing = asyncio.Event()
        self.closes = asyncio.Event()
        self.takes = asyncio.Event()
        self.taking: list[bytes] = []
        self.is_taking = asyncio.Event()
        self.says: asyncio.Queue[bytes] = asyncio.Queue()

    async def read(self) -> bytes:
        return await self.says.get()

    async def write(self, data: bytes) -> None:
        self.taking.append(data)
        self.is_taking.set()
        await self.takes.wait()

    async def close(self) -> None:
        self.closing.set()
        await self.closes.wait()


class Client:
    """Somebody who is shown a shell, and takes nothing before they read."""

    def __init__(self, *, reads: bool = False) -> None:
        self.is_shown = asyncio.Event()
        self.is_left = asyncio.Event()
        self.reads = asyncio.Event()
        self.taken = b""
        if reads:
            self.reads.set()

    async def show(self, data: bytes) -> None:
        self.is_shown.set()
        try:
            await self.reads.wait()
        except asyncio.CancelledError:
            self.is_left.set()
            raise
        self.taken += data


@asynccontextmanager
async def stubborn(
    terminal: StubbornTerminal, limits: Limits
) -> AsyncIterator[tuple[ShellSessions, ShellSession, asyncio.TaskGroup]]:
    """A shell of somebody on this terminal."""

    async def open_shell(*_: Any, **options: Any) -> StubbornTerminal:
        return terminal

    workspaces: Any = SimpleNamespace(shell=open_shell)
    sessions = ShellSessions(limits)
    async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as tasks:
        yield sessions, await sessions.open(tasks, workspaces, LOCAL, TICKET, 24, 80), tasks
        terminal.closes.set()
        await sessions.close()


async def test_nobody_comes_back_to_a_shell_that_is_being_closed() -> None:
    terminal = StubbornTerminal()
    async with stubborn(terminal, Limits()) as (sessions, session, tasks):
        assert sessions.find(session.id, "run", "somebody") is session
        tasks.create_task(session.close())
        await terminal.closing.wait()
        with pytest.raises(Unknown):
            sessions.find(session.id, "run", "somebody")


async def test_what_is_typed_by_who_came_back_waits_for_what_was_typed_before() -> None:
    terminal = StubbornTerminal()
    async with stubborn(terminal, Limits()) as (_, session, tasks):
        tasks.create_task(session.type(b"first"))
        await terminal.is_taking.wait()
        second = tasks.create_task(session.type(b"second"))
        await asyncio.sleep(0)  # it types by now
        assert terminal.taking == [b"first"]
        terminal.takes.set()
        await second
    assert terminal.taking == [b"first", b"second"]


async def test_who_does_not_read_is_left_and_is_still_there() -> None:
    terminal, client = StubbornTerminal(), Client()
    async with stubborn(terminal, Limits(stalled_seconds=0.01)) as (_, session, _):
        with session.connected():
            await session.attach(client.show)
            terminal.says.put_nowait(b"a word")
            await client.is_left.wait()
            assert session.idle_seconds == 0


async def test_two_who_come_back_at_once_both_leave_who_does_not_read() -> None:
    terminal, stalled, one, other = StubbornTerminal(), Client(), Client(reads=True), Client(reads=True)

    async def attach_in_a_moment(session: ShellSession) -> None:
        await asyncio.sleep(0)  # when the first has just left the one who does not read
        await session.attach(other.show)

    async with stubborn(terminal, Limits()) as (_, session, tasks):
        await session.attach(stalled.show)
        terminal.says.put_nowait(b"a word")
        await stalled.is_shown.wait()
        tasks.create_task(session.attach(one.show))
        await tasks.create_task(attach_in_a_moment(session))
    assert (one.taken, other.taken) == (b"a word", b"a word")


async def test_who_does_not_read_what_is_on_the_screen_holds_nobody_up() -> None:
    terminal, first, stalled, next_one = StubbornTerminal(), Client(reads=True), Client(), Client(reads=True)
    async with stubborn(terminal, Limits()) as (_, session, tasks):
        await session.attach(first.show)
        terminal.says.put_nowait(b"a word")
        await first.is_shown.wait()
        tasks.create_task(session.attach(stalled.show))
        await stalled.is_shown.wait()
        await session.attach(next_one.show)
    assert next_one.taken == b"a word"


async def test_there_are_only_so_many_shells(tmp_path: Path) -> None:
    async with Bench(tmp_path, Limits(shells_of_one=1)).serving() as bench:
        run, stop = await failed(bench)
        async with connected(bench, run, token=await token(bench, run, stop)):
            with pytest.raises(websockets.InvalidStatus) as refused:
                async with connected(bench, run, token=await token(bench, run, stop)):
                    pass
        assert refused.value.response.status_code == 429


async def test_shells_that_are_being_opened_count_and_those_that_could_not_be_do_not() -> None:
    terminal, opening, opens = StubbornTerminal(), asyncio.Event(), asyncio.Event()
    terminal.closes.set()

    async def open_shell(*_: Any, **options: Any) -> StubbornTerminal:
        opening.set()
        await opens.wait()
        return terminal

    async def refuse_shell(*_: Any, **options: Any) -> StubbornTerminal:
        raise StaleStop(1)

    workspaces: Any = SimpleNamespace(shell=open_shell)
    stale: Any = SimpleNamespace(shell=refuse_shell)
    sessions = ShellSessions(Limits(shells_of_one=1))
    async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as tasks:
        with pytest.raises(StaleStop):
            await sessions.open(tasks, stale, LOCAL, TICKET, 24, 80)
        first = tasks.create_task(sessions.open(tasks, workspaces, LOCAL, TICKET, 24, 80))
        await opening.wait()
        opens.set()  # the first has not been told yet
        with pytest.raises(TooMany):
            await sessions.open(tasks, workspaces, LOCAL, TICKET, 24, 80)
        await (await first).close()


@pytest.mark.timeout(300)
async def test_a_shell_that_was_flooded_with_a_hundred_megabytes_is_still_there(bench: Bench) -> None:
    """Whatever a program says, the shell holds no more of it than a screen, and the next key reaches it."""
    async with shell(bench) as (terminal, _, _):
        await terminal.type("stty -echo; echo re''ady\n")
        await terminal.wait("ready")
        await terminal.type(f"yes {'x' * 200}\n")
        read = 0
        async with asyncio.timeout(240):
            while read < 100_000_000:
                said = await terminal.socket.recv()
                read += len(said)
            await terminal.type(b"\x03")
            await terminal.type("echo still h''ere\n")
            last = b""
            while b"still here" not in last:
                said = await terminal.socket.recv()
                last = last[-1000:] + (said if isinstance(said, bytes) else b"")


def test_a_token_is_good_for_a_minute() -> None:
    now = 1000.0
    tokens = ShellTokens(lambda: now)
    token, ends_at = tokens.make("run", 1, "shell", "somebody")
    in_time, _ = tokens.make("run", 1, "shell", "somebody")
    assert ends_at == 1060.0

    now = 1059.9
    assert tokens.take(in_time, "run", "somebody").place == 1
    now = 1060.0
    with pytest.raises(AccessDenied):
        tokens.take(token, "run", "somebody")
