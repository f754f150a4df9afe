"""The desk for repositories: taking them in, looking into them, and what was pushed to them."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from pitstop.git.smart_http import GitAnswer, GitRequest
from pitstop.platform.repo_info import (
    Branch,
    BranchPage,
    ChangedFile,
    CommitEntry,
    CommitPage,
    Diff,
    FileContent,
    FiringInfo,
    FiringPage,
    Folder,
    NewRepo,
    Patch,
    PushInfo,
    PushPage,
    RepoChanges,
    RepoFlowInfo,
    RepoFlowText,
    RepoInfo,
    TreeEntry,
    Written,
)
from pitstop.platform.repo_values import check_repo_name
from pitstop.runs.repositories import read_address
from pitstop.service.caller import Caller

__all__ = [
    "Branch",
    "BranchPage",
    "ChangedFile",
    "CommitEntry",
    "CommitPage",
    "Diff",
    "FileContent",
    "FiringInfo",
    "FiringPage",
    "Folder",
    "GitAnswer",
    "GitRequest",
    "GitServer",
    "NewRepo",
    "Patch",
    "PushInfo",
    "PushPage",
    "RepoChanges",
    "RepoFlowInfo",
    "RepoFlowText",
    "RepoInfo",
    "Repos",
    "TreeEntry",
    "Triggers",
    "Written",
    "check_repo_name",
    "read_address",
]


class Repos(Protocol):
    """Repositories on a server. Reading needs no role; whatever changes something needs an operator.

    An unknown repository is UnknownRepo, a branch, tag or commit UnknownRef, and a path UnknownPath. What needs the
    files of a repository that another server has is refused with RepoElsewhere.
    """

    async def create(self, caller: Caller, request: NewRepo) -> RepoInfo:
        """A new, empty repository. BadRepoName, BadRepoSetting, RepoExists.

        With `ingest`, one that is still being ingested is given again, so that an interrupted ingest can go on.
        """
        ...

    async def list(self, caller: Caller) -> tuple[RepoInfo, ...]: ...

    async def get(self, caller: Caller, repo: str) -> RepoInfo: ...

    async def update(self, caller: Caller, repo: str, changes: RepoChanges) -> RepoInfo:
        """BadRepoSetting."""
        ...

    async def finish_ingest(self, caller: Caller, repo: str) -> RepoInfo:
        """A repository has all that it begins with: pushes start flows from now on."""
        ...

    async def delete(self, caller: Caller, repo: str) -> None:
        """Remove a repository with its pushes and firings. Its runs stay."""
        ...

    async def branches(self, caller: Caller, repo: str, cursor: str | None = None, limit: int = 50) -> BranchPage: ...

    async def delete_branches(self, caller: Caller, repo: str, branches: Mapping[str, str]) -> None:
        """Delete branches that are at the given commits: all, or none. RefMoved, ProtectedRef."""
        ...

    async def tree(self, caller: Caller, repo: str, ref: str | None = None, path: str = "") -> Folder:
        """A folder, at what `ref` names or on the default branch."""
        ...

    async def file(self, caller: Caller, repo: str, path: str, ref: str | None = None) -> FileContent: ...

    async def commits(
        self,
        caller: Caller,
        repo: str,
        ref: str | None = None,
        path: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> CommitPage: ...

    async def diff(self, caller: Caller, repo: str, base: str, head: str) -> Diff:
        """What the head has that the base has not: the changes since the two began to differ."""
        ...

    async def patch(self, caller: Caller, repo: str, base: str, head: str, path: str) -> Patch: ...

    async def pushes(self, caller: Caller, repo: str, cursor: str | None = None, limit: int = 50) -> PushPage: ...

    async def write(
        self,
        caller: Caller,
        repo: str,
        branch: str,
        path: str,
        text: str | None,
        *,
        expect: str | None = None,
        message: str = "",
    ) -> Written:
        """One commit that writes a file, or deletes it without a `text`. FileChanged, ProtectedRef.

        `expect` is the hash of the content that was opened; empty for a file that must not exist.
        """
        ...

    async def note_landing(self, caller: Caller, repo: str, branch: str, sha: str, remote: str) -> None:
        """Tell the feed that a branch was pushed to the remote."""
        ...


class GitServer(Protocol):
    """What answers git clients."""

    def git(
        self, caller: Caller, repo: str, request: GitRequest, body: AsyncIterator[bytes]
    ) -> AbstractAsyncContextManager[GitAnswer]:
        """Git's own answer to a request of a git client. NotPermitted, ServerBusy.

        When a push is over, what follows from it is stored before the context ends.
        """
        ...


class Triggers(Protocol):
    """The flows of repositories and what starts them. Starting one needs an operator."""

    async def flows(self, caller: Caller, repo: str, ref: str | None = None) -> tuple[RepoFlowInfo, ...]:
        """The flows at what `ref` names, or on the default branch."""
        ...

    async def flow(self, caller: Caller, repo: str, flow: str, ref: str | None = None) -> RepoFlowText:
        """UnknownFlow."""
        ...

    async def fire(
        self, caller: Caller, repo: str, flow: str, ref: str | None = None, inputs: Mapping[str, Any] | None = None
    ) -> FiringInfo:
        """Start a flow by hand. A repeated call with the caller's key starts nothing again."""
        ...

    async def fire_again(self, caller: Caller, repo: str, firing: int) -> FiringInfo:
        """Start what a firing did not start, or has started before."""
        ...

    async def firings(
        self, caller: Caller, repo: str, flow: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> FiringPage: ...

    async def set_enabled(self, caller: Caller, repo: str, flows: Sequence[str], *, enabled: bool) -> RepoInfo:
        """Switch flows on or off, without a commit."""
        ...
