"""What the tests of git share: a repository, and a server for it."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from pitstop.git.bare import BareRepository
from tests.git.repositories import git, new_repository
from tests.git.serving import GitServer


@pytest.fixture
async def repository(tmp_path: Path) -> BareRepository:
    return await new_repository(tmp_path)


@pytest.fixture
async def server(repository: BareRepository) -> AsyncGenerator[GitServer]:
    async with GitServer(repository).running() as server:
        yield server


@pytest.fixture
async def work(server: GitServer, tmp_path: Path) -> Path:
    """A repository of a user, with one commit and the server as its remote."""
    folder = tmp_path / "work"
    await git(tmp_path, "init", "work")
    await git(folder, "remote", "add", "origin", server.url)
    (folder / "a.txt").write_text("first\n")
    await git(folder, "add", ".")
    await git(folder, "commit", "-m", "first")
    return folder
