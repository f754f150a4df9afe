"""Commits of a bare repository as git bundles, for workspaces on this machine and on others."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from pitstop.engine.workspace_files import WorkspaceFiles
from pitstop.errors import BadCommit, GitProblem
from pitstop.git.bare import BareRepository
from pitstop.git.commands import git_environment, stream_git

WHOLE_HISTORY_BYTES = 256 * 1024 * 1024  # a workspace gets the history of a repository up to this size


async def check_out(repository: BareRepository, sha: str, ref: str | None, files: WorkspaceFiles) -> None:
    """Fill the empty repo of a workspace with a commit, and with its history if that is not too large. BadCommit."""
    is_shallow = await repository.size_bytes() > WHOLE_HISTORY_BYTES
    try:
        async with aclosing(_bundle(repository, sha, ref or "pitstop", is_shallow)) as bundle:
            await files.check_out(bundle, sha, shallow=[sha] if is_shallow else [])
    except GitProblem as error:
        raise BadCommit(sha, str(error)) from error


async def _bundle(repository: BareRepository, sha: str, name: str, is_shallow: bool) -> AsyncGenerator[bytes]:
    """A bundle with one branch. `git bundle` makes none of a commit that no branch is at."""
    yield f"# v2 git bundle\n{sha} refs/heads/{name}\n\n".encode()
    words = ("pack-objects", "--stdout", "--revs", "--quiet", "--delta-base-offset", "--threads=1")
    packing = stream_git(
        f"--git-dir={repository.folder}",
        *(*words, *(["--shallow"] if is_shallow else [])),
        environment=git_environment([("pack.window", "0")]),  # to look for deltas would take longer than to send
        input=(f"--shallow {sha}\n" if is_shallow else "").encode() + f"{sha}\n".encode(),
    )
    async with aclosing(packing) as pieces:
        async for piece in pieces:
            yield piece
