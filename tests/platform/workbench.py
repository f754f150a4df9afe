"""A whole server in this process, and a real git client with a clone of its own."""

import asyncio
import os
import sys
import textwrap
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from pitstop.service.caller import LOCAL
from pitstop.service.repos import FiringInfo, NewRepo, PushInfo, RepoInfo, Repos, Triggers
from pitstop.service.runs import RunInfo, RunQuery
from pitstop.serving.house import Open, Serving, open_house
from pitstop.settings import Settings
from tests.patience import PATIENCE_SECONDS, wait_until

PASSES = "on: push\nsteps:\n  - {id: hello, run: echo hello from $PWD}\n"


class GitFailed(Exception):
    """The git client has failed; the text is what it said."""


class Workbench:
    """A server with a state of its own, and a clone that pushes to it."""

    def __init__(self, folder: Path, settings: Settings | None = None) -> None:
        self.settings = settings or Settings(folder / "state")
        self.clone = folder / "clone"
        self._folder = folder
        self.house: Open

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Workbench"]:
        serving = Serving(settings=self.settings, port=0, drain_seconds=0.1)
        async with asyncio.timeout(PATIENCE_SECONDS), open_house(serving) as self.house:
            yield self

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

    def url(self, repo: str = "shop") -> str:
        return f"{self.house.url}git/{repo}.git"

    async def create(self, repo: str = "shop") -> RepoInfo:
        """A repository on the server, with an empty clone of it."""
        created = await self.repos.create(LOCAL, NewRepo(name=repo))
        await self.git("init", "--quiet", "--initial-branch=main", str(self.clone), at=self._folder)
        await self.git("remote", "add", "origin", self.url(repo))
        return created

    async def git(self, *words: str, at: Path | None = None, token: str | None = None) -> str:
        """What the git client prints; GitFailed."""
        header = f"http.extraHeader=Authorization: Bearer {token or self.token}"
        code, printed = await self._execute(at, "git", "-c", header, *words)
        if code != 0:
            raise GitFailed(printed)
        return printed

    async def pitstop(self, *words: str, at: Path | None = None, expect: int = 0, **environment: str) -> str:
        """What the command line prints, which must end with this code."""
        program = str(Path(sys.executable).with_name("pitstop"))
        code, printed = await self._execute(at, program, *words, **{**self._own, **environment})
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
        people = {f"GIT_{who}_{what}": name for who in ("AUTHOR", "COMMITTER") for what, name in _PERSON.items()}
        known = {"PATH": os.environ["PATH"], "HOME": str(self._folder), "GIT_CONFIG_NOSYSTEM": "1"}
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=at or self.clone,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**known, "GIT_TERMINAL_PROMPT": "0", **people, **environment},
        )
        printed, _ = await process.communicate()
        return process.returncode, printed.decode(errors="replace").strip()

    async def commit(self, files: Mapping[str, str] | None = None, message: str = "Change it") -> str:
        """Commit some files; the commit."""
        for name, text in (files or {}).items():
            path = self.clone / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        await self.git("add", "--all")
        await self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return await self.git("rev-parse", "HEAD")

    async def push_flow(self, text: str = PASSES, name: str = "ci", message: str = "Add a flow") -> str:
        """Commit a flow on the main branch and push it; the commit."""
        sha = await self.commit({f".pitstop/flows/{name}.yaml": text}, message)
        await self.push()
        return sha

    async def push(self, *words: str, token: str | None = None) -> str:
        return await self.git("push", "origin", *(words or ("HEAD:main",)), token=token)

    async def newest_push(self, repo: str = "shop") -> PushInfo:
        return (await self.repos.pushes(LOCAL, repo)).pushes[0]

    async def count_pushes(self, wanted: int, repo: str = "shop") -> bool:
        return len((await self.repos.pushes(LOCAL, repo)).pushes) == wanted

    async def firings(self, repo: str = "shop") -> tuple[FiringInfo, ...]:
        """All firings once none is pending, the oldest first."""

        async def settled() -> tuple[FiringInfo, ...] | None:
            page = (await self.triggers.firings(LOCAL, repo, limit=100)).firings
            return None if any(each.outcome == "pending" for each in page) else (*reversed(page), None)  # type: ignore[arg-type]

        found: tuple[FiringInfo, ...] = (await wait_until(settled))[:-1]
        return found

    async def runs(self, repo: str = "shop") -> list[RunInfo]:
        """All runs of a repository when they have ended, the oldest first."""
        service = self.house.service.runs
        await self.firings(repo)
        page = await service.list(LOCAL, RunQuery(repo=repo, limit=500))
        ended = []
        for each in reversed(page.runs):
            run = await service.get(LOCAL, each.id)
            await run.wait()
            ended.append(await run.info())
        return ended

    async def output(self, run: str, occurrence: str) -> list[str]:
        return await (await self.house.service.runs.get(LOCAL, run)).log_tail(occurrence)


_PERSON = {"NAME": "Ada", "EMAIL": "ada@example.com"}
