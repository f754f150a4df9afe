"""Repositories of the tests: bare ones with commits in them, and a git client as a user has it."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from pitstop.git.bare import BareRepository
from pitstop.git.commands import run_git
from pitstop.git.names import ZEROS
from pitstop.git.smart_http import GitRequest

AUTHOR = "Ada"
PUSH = GitRequest(method="POST", path="/git-receive-pack", who=AUTHOR, may_push=True)


async def new_repository(folder: Path, name: str = "demo") -> BareRepository:
    repository = BareRepository(folder / f"{name}.git", name)
    await repository.create("main")
    return repository


async def tree_of(repository: BareRepository, files: Mapping[str, bytes | str]) -> str:
    """A stored tree with these files. A path may begin with a mode: `100755:run.sh`, `120000:link`, `160000:sub`."""
    index = {"GIT_INDEX_FILE": str(repository.folder / "index.test")}
    lines = []
    for named, content in files.items():
        mode, _, path = named.partition(":") if named[:6].isdigit() else ("100644", "", named)
        raw = content.encode() if isinstance(content, str) else content
        sha = raw.decode() if mode == "160000" else await store_blob(repository, raw)
        lines.append(f"{mode} {sha}\t{path}\0")
    await run_git(repository.folder, "read-tree", "--empty", environment=index)
    listed = "".join(lines).encode(errors="surrogateescape")
    await run_git(repository.folder, "update-index", "-z", "--index-info", input=listed, environment=index)
    return (await run_git(repository.folder, "write-tree", "--missing-ok", environment=index)).decode().strip()


async def store_blob(repository: BareRepository, content: bytes) -> str:
    return (await run_git(repository.folder, "hash-object", "-w", "--stdin", input=content)).decode().strip()


async def commit_of(
    repository: BareRepository,
    files: Mapping[str, bytes | str],
    *parents: str,
    message: str = "a change",
    at: int = 1_700_000_000,
) -> str:
    """A stored commit that no branch has yet."""
    tree = await tree_of(repository, files)
    words = [word for parent in parents for word in ("-p", parent)]
    dates = {"GIT_AUTHOR_DATE": f"{at} +0100", "GIT_COMMITTER_DATE": f"{at} +0100"}
    stored = await run_git(
        repository.folder,
        *("commit-tree", tree, *words, "-F", "-"),
        input=message.encode(),
        who=AUTHOR,
        environment=dates,
    )
    return stored.decode().strip()


async def commit_on(
    repository: BareRepository,
    branch: str,
    files: Mapping[str, bytes | str],
    *,
    message: str = "a change",
    who: str = AUTHOR,
) -> str:
    """A commit with exactly these files on top of a branch, which is created if it does not exist."""
    head = (await repository.refs()).get(f"refs/heads/{branch}")
    sha = await commit_of(repository, files, *([head.sha] if head else []), message=message)
    await repository.move(f"refs/heads/{branch}", sha, head.sha if head else ZEROS, who=who, message="test: commit")
    return sha


def add_remote(folder: Path, url: str) -> None:
    """Let the remote `origin` of a repository be there, without starting git for it."""
    with (folder / ".git/config").open("a") as config:
        config.write(f'[remote "origin"]\n\turl = {url}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n')


def left_in(repository: BareRepository) -> list[str]:
    """What a push has left behind besides objects."""
    objects = repository.folder / "objects"
    found = [*objects.glob("tmp*"), *objects.glob("incoming*"), *repository.folder.rglob("*.lock")]
    return sorted({str(path.relative_to(repository.folder)) for path in [*found, *objects.rglob("tmp_*")]})


async def git(folder: Path, *words: str, fails: bool = False, env: Mapping[str, str] | None = None) -> str:
    """What the user's git prints, on both outputs; it must succeed, or fail if that is expected."""
    process = await asyncio.create_subprocess_exec(
        *("git", *words),
        cwd=folder,
        env=client_environment() | dict(env or {}),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        printed = (await process.communicate())[0].decode(errors="replace")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert (process.returncode != 0) == fails, printed
    return printed.strip()


@asynccontextmanager
async def git_running(folder: Path, *words: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    """The user's git, which is killed at the end if it has not ended."""
    process = await asyncio.create_subprocess_exec(
        *("git", *words),
        cwd=folder,
        env=client_environment(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def client_environment() -> dict[str, str]:
    settings = {
        "user.name": AUTHOR,
        "user.email": "ada@example.org",
        "init.defaultBranch": "main",
        "gc.auto": "0",
        "core.compression": "0",  # the large files of the tests are random
    }
    numbered = {
        f"GIT_CONFIG_{kind}_{number}": text
        for number, pair in enumerate(settings.items())
        for kind, text in zip(("KEY", "VALUE"), pair, strict=True)
    }
    return {
        **os.environ,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
        "GIT_CONFIG_COUNT": str(len(settings)),
        **numbered,
    }
