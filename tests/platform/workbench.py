"""A whole server in this process, and a real git client with a clone of its own."""

import asyncio
import os
import textwrap
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from pitstop.service.caller import LOCAL
from pitstop.service.repos import FiringInfo, NewRepo, PushInfo, RepoInfo, Repos, Triggers
from pitstop.service.runs import RunInfo, RunQuery
from pitstop.serving.house import Open, Serving, open_house
from pitstop.settings import Settings
from tests.git.repositories import add_remote
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.platform.warm_command import PROGRAM, WarmCommand

PASSES = "on: push\nsteps:\n  - {id: hello, run: echo hello from $PWD}\n"


class GitFailed(Exception):
    """The git client has failed; the text is what it said."""


class Workbench:
    """A server with a state of its own, a repository on it, and a clone that pushes to that."""

    def __init__(
        self, folder: Path, settings: Settings | None = None, repo: str = "shop", command: WarmCommand | None = None
    ) -> None:
        self.settings = settings or Settings(folder / "state")
        self.repo = repo
        self._command = command
        self.clone = folder / "clone"
        self._folder = folder
        self.house: Open

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Workbench"]:
        """A server for as long as one test takes."""
        async with asyncio.timeout(PATIENCE_SECONDS), self.serving():
            yield self

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["Workbench"]:
        async with open_house(Serving(settings=self.settings, port=0, drain_seconds=0.1)) as self.house:
            yield self

    def sharing(self, folder: Path, repo: str, command: WarmCommand | None = None) -> "Workbench":
        """Another repository and clone, on the same server."""
        other = Workbench(folder, self.settings, repo, command)
        other.house = self.house
        return other

    @property
    def repos(self) -> Repos:
        assert self.house.service.repos is not None
        return self.house.service.repos

    @property
    def triggers(self) -> Triggers:
        assert self.house.service.triggers is not None
        return self.house.service.triggers

    @property
    def token(self) -> str:
        return self.settings.token_file.read_text().strip()

    @property
    def bare(self) -> Path:
        """The repository on the server."""
        return self.settings.repos / f"{self.repo}.git"

    def url(self, repo: str | None = None) -> str:
        return f"{self.house.url}git/{repo or self.repo}.git"

    async def create(self) -> RepoInfo:
        """A repository on the server, with an empty clone of it."""
        created = await self.repos.create(LOCAL, NewRepo(name=self.repo))
        await self.begin_clone(self.url())
        return created

    async def begin_clone(self, remote: str) -> None:
        """A repository of the user, which is empty and has a remote."""
        await self.git("init", "--quiet", "--initial-branch=main", str(self.clone), at=self._folder)
        add_remote(self.clone, remote)

    async def git(self, *words: str, at: Path | None = None, token: str | None = None) -> str:
        """What the git client prints; GitFailed."""
        header = f"http.extraHeader=Authorization: Bearer {token or self.token}"
        code, printed = await self._execute(at, "git", "-c", header, *words)
        if code != 0:
            raise GitFailed(printed)
        return printed

    async def pitstop(self, *words: str, at: Path | None = None, expect: int = 0, **environment: str) -> str:
        """What the command line prints, which must end with this code."""
        code: int | None
        if self._command is not None:
            code, printed = await self._command.run(words, at or self.clone, self._environment(self._own | environment))
        else:
            code, printed = await self._execute(at, PROGRAM, *words, **{**self._own, **environment})
        assert code == expect, printed
        return printed

    async def plain_git(self, *words: str, at: Path | None = None, **environment: str) -> str:
        """The same as `git`, without a token; GitFailed."""
        code, printed = await self._execute(at, "git", *words, **{**self._own, **environment})
        if code != 0:
            raise GitFailed(printed)
        return printed

    @property
    def _own(self) -> dict[str, str]:
        return {"PITSTOP_HOME": str(self.settings.home)}

    async def _execute(self, at: Path | None, *command: str, **environment: str) -> tuple[int | None, str]:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=at or self.clone,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=self._environment(environment),
        )
        printed, _ = await process.communicate()
        return process.returncode, printed.decode(errors="replace").strip()

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        people = {f"GIT_{who}_{what}": name for who in ("AUTHOR", "COMMITTER") for what, name in _PERSON.items()}
        known = {"PATH": os.environ["PATH"], "HOME": str(self._folder), "GIT_CONFIG_NOSYSTEM": "1"}
        return {**known, "GIT_TERMINAL_PROMPT": "0", **people, **more}

    async def commit(self, files: Mapping[str, str] | None = None, message: str = "Change it") -> str:
        """Commit some files; the commit."""
        for name, text in (files or {}).items():
            path = self.clone / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        await self.git("add", "--all")
        await self.git("commit", "--quiet", "--allow-empty", "-m", message)
        head = (self.clone / ".git/HEAD").read_text().removeprefix("ref: ").strip()
        return (self.clone / ".git" / head).read_text().strip()

    async def push_flow(self, text: str = PASSES, name: str = "ci", message: str = "Add a flow") -> str:
        """Commit a flow on the main branch and push it; the commit."""
        sha = await self.commit({f".pitstop/flows/{name}.yaml": text}, message)
        await self.push()
        return sha

    async def push(self, *words: str, token: str | None = None) -> str:
        return await self.git("push", "origin", *(words or ("HEAD:main",)), token=token)

    async def info(self) -> RepoInfo:
        return await self.repos.get(LOCAL, self.repo)

    async def newest_push(self) -> PushInfo:
        return (await self.repos.pushes(LOCAL, self.repo)).pushes[0]

    async def count_pushes(self, wanted: int) -> bool:
        return len((await self.repos.pushes(LOCAL, self.repo)).pushes) == wanted

    async def firings(self) -> tuple[FiringInfo, ...]:
        """All firings once none is pending, the oldest first."""

        async def page() -> tuple[FiringInfo, ...]:
            return (await self.triggers.firings(LOCAL, self.repo, limit=100)).firings

        async def is_settled() -> bool:
            return all(each.outcome != "pending" for each in await page())

        await wait_until(is_settled)
        return tuple(reversed(await page()))

    async def runs(self) -> list[RunInfo]:
        """All runs of the repository when they have ended, the oldest first."""
        service = self.house.service.runs
        await self.firings()
        page = await service.list(LOCAL, RunQuery(repo=self.repo, limit=500))
        ended = []
        for each in reversed(page.runs):
            run = await service.get(LOCAL, each.id)
            await run.wait()
            ended.append(await run.info())
        return ended

    async def output(self, run: str, occurrence: str) -> list[str]:
        return await (await self.house.service.runs.get(LOCAL, run)).log_tail(occurrence)


_PERSON = {"NAME": "Ada", "EMAIL": "ada@example.com"}
