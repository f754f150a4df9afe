"""What the tests of git share: a repository, and a server for it."""

import asyncio
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from pitstop.git.bare import BareRepository
from tests.git.repositories import add_remote, git, new_repository
from tests.git.serving import GitServer


@pytest.fixture
async def repository(tmp_path: Path) -> BareRepository:
    return await new_repository(tmp_path)


@pytest.fixture
async def server(repository: BareRepository) -> AsyncGenerator[GitServer]:
    async with GitServer(repository).running() as server:
        yield server


@pytest.fixture(scope="session")
def first_commit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of a user, with one commit: it is copied, which is quicker than to make it again."""
    folder = tmp_path_factory.mktemp("first") / "work"
    asyncio.run(_commit_in(folder))
    return folder


async def _commit_in(folder: Path) -> None:
    await git(folder.parent, "init", "work")
    (folder / "a.txt").write_text("first\n")
    await git(folder, "add", ".")
    await git(folder, "commit", "-m", "first")


@pytest.fixture
async def work(server: GitServer, first_commit: Path, tmp_path: Path) -> Path:
    """A repository of a user, with one commit and the server as its remote."""
    folder = tmp_path / "work"
    shutil.copytree(first_commit, folder)
    add_remote(folder, server.url)
    return folder
