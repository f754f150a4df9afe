"""The repositories whose files are in this server's state folder, opened when they are used."""

import asyncio
import secrets
import socket
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from pitstop.errors import RepoElsewhere, RepoNotReady
from pitstop.git.bare import BareRepository
from pitstop.git.reading import RepositoryReader
from pitstop.platform.repo_values import RepoRecord, check_repo_name
from pitstop.store.port import ServerRecord

SILENT_SECONDS = 30.0  # two leases, after which a server that was not seen is taken for dead
LOOPBACK = ("localhost", "127.0.0.1", "::1")

Servers = Callable[[], Awaitable[Sequence[ServerRecord]]]


def read_home_id(file: Path) -> str:
    """What distinguishes this state folder from others; it is made when it is first asked for."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        with file.open("x") as new:
            new.write(f"{secrets.token_hex(8)}\n")
    except FileExistsError:
        pass
    return file.read_text().strip()


def find_home(servers: Sequence[ServerRecord], home: str, machine: str) -> tuple[str, str]:
    """The address of the server that has a home, and why a server on this machine cannot ask it, if it cannot."""
    found = max((each for each in servers if each.home == home), key=lambda each: each.seen_at, default=None)
    if found is None:
        return "", "which is not running: start it"
    silent_seconds = max(each.seen_at for each in servers) - found.seen_at  # this server was just seen
    if silent_seconds > SILENT_SECONDS:
        return found.address, f"which was last seen {silent_seconds:,.0f} s ago: start it again"
    place = found.id.partition("/")[0]
    if place != machine and urlsplit(found.address).hostname in LOOPBACK:
        return found.address, f"which only its machine, {place}, can reach: start it there with another --host"
    return found.address, ""


class OpenRepo:
    """The files of a repository. `lock` is held by what compares its refs with what is known of them."""

    def __init__(self, repo: str, folder: Path) -> None:
        self.id = repo
        self.bare = BareRepository(folder / f"{repo}.git", repo)
        self.reader = RepositoryReader(self.bare)
        self.lock = asyncio.Lock()
        self.pushing = 0  # how many pushes are on their way


class OpenRepos:
    """Every repository of this home that was used since the server began. `servers` lists all that run."""

    def __init__(self, folder: Path, home: str, servers: Servers) -> None:
        self.home = home
        self._folder = folder
        self._servers = servers
        self._open: dict[str, OpenRepo] = {}

    def get(self, repo: str) -> OpenRepo:
        """The files of a repository of this home, whether they are there or not."""
        if repo not in self._open:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._open[repo] = OpenRepo(check_repo_name(repo), self._folder)
        return self._open[repo]

    async def ready(self, record: RepoRecord) -> OpenRepo:
        """The files of a repository that is ready, or being filled; RepoElsewhere, RepoNotReady."""
        await self.check_home(record)
        if record.state not in ("ready", "creating"):
            raise RepoNotReady(record.id, record.state, record.error or "")
        return self.get(record.id)

    async def check_home(self, record: RepoRecord) -> None:
        """Raise RepoElsewhere if another server has the files of a repository."""
        if record.home != self.home:
            raise RepoElsewhere(record.id, *find_home(await self._servers(), record.home, socket.gethostname()))

    async def address_of(self, home: str) -> str:
        """The address of the server that has this home; empty if that one cannot be asked."""
        address, trouble = find_home(await self._servers(), home, socket.gethostname())
        return "" if trouble else address

    async def forget(self, repo: str) -> None:
        """Close a repository that is going to be deleted."""
        opened = self._open.pop(repo, None)
        if opened is not None:
            await opened.reader.close()

    def used(self) -> Sequence[OpenRepo]:
        return tuple(self._open.values())

    async def close(self) -> None:
        for opened in self._open.values():
            await opened.reader.close()
        self._open.clear()
