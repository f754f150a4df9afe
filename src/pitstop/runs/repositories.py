"""What a run needs of the repositories on a server: the flow at a commit, and its files."""

import re
from typing import Protocol

from msgspec import Struct

from pitstop.engine.workspace_files import WorkspaceFiles
from pitstop.runs.file_texts import ReadFile
from pitstop.runs.run_info import CommitInfo
from pitstop.steps.workplace import Workshop
from pitstop.store.port import RunRecord


class RepositoryFlow(Struct, frozen=True, kw_only=True):
    """A flow of a repository, at one commit. `read` blocks, and reads any file of that commit by its path."""

    repo: str
    name: str
    path: str
    ref: str | None  # the branch or tag that was named, if one was
    commit: CommitInfo
    read: ReadFile

    @property
    def address(self) -> str:
        return flow_address(self.repo, self.name)


class Repositories(Protocol):
    """The repositories whose flows can be started."""

    async def flow(
        self, repo: str, name: str, ref: str | None, sha: str | None, text: str | None = None
    ) -> RepositoryFlow:
        """The flow at the commit `sha` of a branch or tag, or at what `ref` names, or on the default branch.

        With a `text`, that is the flow, and it may call those of the commit. UnknownRepo, RepoNotReady, UnknownRef,
        UnknownFlow.
        """
        ...

    async def commit(self, repo: str, sha: str, ref: str | None) -> CommitInfo:
        """A commit of a branch or tag. UnknownRepo, RepoNotReady, UnknownRef."""
        ...

    def workshop_of(self, record: RunRecord) -> Workshop:
        """What the steps of a run can do with its repository."""
        ...

    async def check_out(self, repo: str, sha: str, files: WorkspaceFiles) -> None:
        """Fill the empty repo of a workspace with a commit. Raises `BadCommit`."""
        ...


class FlowAddress(Struct, frozen=True):
    """A flow of a repository as a user names it: `REPO:FLOW`, or `REPO:FLOW@REF`."""

    repo: str
    flow: str
    ref: str | None = None


_ADDRESS = re.compile(r"(?P<repo>[a-z0-9][a-z0-9._-]*):(?P<flow>[^@:]+)(?:@(?P<ref>.+))?")


def read_address(text: str) -> FlowAddress | None:
    """The flow that is meant; None for what is the name of a file, of a graph in a file, or of anything else."""
    found = _ADDRESS.fullmatch(text)
    if found is None or found["repo"].endswith(".py") or found["flow"].startswith("/"):
        return None
    return FlowAddress(found["repo"], found["flow"], found["ref"])


def flow_address(repo: str, flow: str) -> str:
    """What the runs and settings of a flow of a repository are found by."""
    return f"{repo}:{flow}"
