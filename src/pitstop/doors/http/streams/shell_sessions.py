"""Shells that outlive a connection: who comes back finds the same shell, with what it showed last."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from msgspec import Struct

from pitstop.doors.http.answers import LOGGER
from pitstop.doors.http.gate.limits import Limits, Places
from pitstop.errors import AccessDenied, PitstopError, TooMany, Unknown
from pitstop.service.caller import Caller
from pitstop.service.workspaces import ShellMode, ShellPlace, ShellRecord, Terminal, Workspaces

TOKEN_SECONDS = 60.0
SCREEN_BYTES = 256 * 1024
MOST_TOKENS = 1000

Send = Callable[[bytes], Awaitable[None]]


class Ticket(Struct, frozen=True):
    """What a token opens, for whom, and until when."""

    run: str
    place: ShellPlace
    mode: ShellMode
    who: str
    ends_at: float
    record: ShellRecord | None = None


class ShellTokens:
    """Tokens that open one shell each, once."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._tickets: dict[str, Ticket] = {}

    def make(
        self, run: str, place: ShellPlace, mode: ShellMode, who: str, record: ShellRecord | None = None
    ) -> tuple[str, float]:
        now = self._now()
        self._tickets = {token: each for token, each in self._tickets.items() if each.ends_at > now}
        if len(self._tickets) >= MOST_TOKENS:
            raise TooMany(f"there are {MOST_TOKENS} unused shell tokens: open some of these shells first")
        token = secrets.token_urlsafe(32)
        self._tickets[token] = Ticket(run, place, mode, who, now + TOKEN_SECONDS, record)
        return token, now + TOKEN_SECONDS

    def take(self, token: str, run: str, who: str) -> Ticket:
        """AccessDenied for a token that was used, is too old, or was made for another run or by somebody else."""
        ticket = self._tickets.pop(token, None)
        if ticket is None or ticket.ends_at <= self._now() or (ticket.run, ticket.who) != (run, who):
            raise AccessDenied("invalid shell token: it works once, for its creator, and expires after a minute")
        return ticket


class ShellSession:
    """One shell. `pump` is its task: it reads the terminal no faster than the client takes it."""

    def __init__(self, run: str, who: str, terminal: Terminal, limits: Limits) -> None:
        self.id = secrets.token_urlsafe(16)
        self.run = run
        self.who = who
        self.over = asyncio.Event()
        self._terminal = terminal
        self._limits = limits
        self._screen = bytearray()
        self._lock = asyncio.Lock()  # around what is shown, so that a client that comes sees all of it in order
        self._typing = asyncio.Lock()  # around what is typed: who came back may find their last words on their way yet
        self._client: Send | None = None
        self._sending: asyncio.Timeout | None = None
        self._connections = 0
        self._left_at = asyncio.get_running_loop().time()

    @property
    def idle_seconds(self) -> float:
        """How long nobody has been connected."""
        return 0.0 if self._connections else asyncio.get_running_loop().time() - self._left_at

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Somebody is there, or about to be, however long it takes to show them anything."""
        self._connections += 1
        try:
            yield
        finally:
            self._connections -= 1
            self._left_at = asyncio.get_running_loop().time()

    async def pump(self) -> None:
        """Show what the terminal says until it ends."""
        try:
            while data := await self._terminal.read():
                await self._show(data)
        finally:
            self.over.set()
            await self._terminal.close()

    async def _show(self, data: bytes) -> None:
        async with self._lock:
            self._screen += data
            del self._screen[:-SCREEN_BYTES]
            if self._client is not None:
                await self._send(self._client, data)

    async def _send(self, client: Send, data: bytes) -> None:
        try:
            async with asyncio.timeout(self._limits.stalled_seconds) as self._sending:
                await client(data)
        except TimeoutError:
            self.detach(client)  # it does not read: the shell goes on without it
        finally:
            self._sending = None

    async def attach(self, client: Send) -> None:
        """Show everything to this client from now on, and first what is on the screen. Another one is left."""
        if self._sending is not None and not self._sending.expired():
            self._sending.reschedule(asyncio.get_running_loop().time())
        async with self._lock:
            self._client = client
            if self._screen:
                await self._send(client, bytes(self._screen))

    def detach(self, client: Send) -> None:
        if self._client is client:
            self._client = None

    async def type(self, data: bytes) -> None:
        async with self._typing:
            await self._terminal.write(data)

    def resize(self, rows: int, cols: int) -> None:
        self._terminal.resize(rows, cols)

    async def close(self) -> None:
        self.over.set()
        await self._terminal.close()


class ShellSessions:
    """The shells that are open. `tasks` is the parent of what they do."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._places = Places(limits.shells, limits.shells_of_one, "shells")
        self._sessions: dict[str, ShellSession] = {}

    async def open(
        self, tasks: asyncio.TaskGroup, workspaces: Workspaces, caller: Caller, ticket: Ticket, rows: int, cols: int
    ) -> ShellSession:
        """A new shell; TooMany, StaleStop, and whatever keeps one from being opened."""
        with ExitStack() as place:
            place.enter_context(self._places.take(ticket.who))  # before it opens: others may be opening, too
            terminal = await workspaces.shell(
                caller, ticket.run, ticket.place, mode=ticket.mode, rows=rows, cols=cols, record=ticket.record
            )
            session = ShellSession(ticket.run, ticket.who, terminal, self._limits)
            self._sessions[session.id] = session
            tasks.create_task(self._live(session, place.pop_all()), name=f"shell {ticket.run}")
        return session

    def find(self, session: str, run: str, who: str) -> ShellSession:
        """Unknown for one that has ended, belongs to another run, or to somebody else."""
        found = self._sessions.get(session)
        if found is None or found.over.is_set() or (found.run, found.who) != (run, who):
            raise Unknown("shell", session)
        return found

    async def _live(self, session: ShellSession, place: ExitStack) -> None:
        """The session's task: until the shell ends, or nobody has been there for too long."""
        try:
            async with asyncio.TaskGroup() as group:
                pumping = group.create_task(session.pump())
                watching = group.create_task(self._watch(session))
                pumping.add_done_callback(lambda _: watching.cancel())
                watching.add_done_callback(lambda _: pumping.cancel())
        except Exception:
            LOGGER.exception("a shell failed")
        finally:
            del self._sessions[session.id]
            place.close()

    async def _watch(self, session: ShellSession) -> None:
        while session.idle_seconds < self._limits.shell_idle_seconds and not session.over.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.01, self._limits.shell_idle_seconds - session.idle_seconds)):
                    await session.over.wait()
        await session.close()

    async def close(self) -> None:
        for session in list(self._sessions.values()):
            with suppress(PitstopError, OSError):
                await session.close()
