"""What people see of a repository, of its flows and of what was pushed to it."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from pitstop.errors import Mistake
from pitstop.git.changes import ChangedFile, Diff, Patch
from pitstop.git.contents import Branch, CommitEntry, FileContent, TreeEntry
from pitstop.platform.lives import RepoState
from pitstop.platform.repo_values import FiringInfo, FiringRecord, Via

__all__ = ["Branch", "ChangedFile", "CommitEntry", "Diff", "FileContent", "FiringInfo", "Patch", "TreeEntry"]


class RepoInfo(Struct, frozen=True, kw_only=True):
    """A repository. `head` is the commit of its default branch; `address` is that of another server that has it."""

    id: str
    title: str
    default_branch: str
    state: RepoState
    created_at: float
    remote_url: str | None = None
    error: str | None = None
    protected: tuple[str, ...] = ()
    disabled_flows: tuple[str, ...] = ()
    test: str = ""
    address: str | None = None
    head: CommitEntry | None = None
    flows: int = 0
    broken_flows: int = 0


def firing_info(firing: FiringRecord) -> FiringInfo:
    """A firing without what its run sees."""
    return FiringInfo(**{name: getattr(firing, name) for name in FiringInfo.__struct_fields__})


class PushInfo(Struct, frozen=True, kw_only=True):
    """A move of a branch or tag, with what each flow made of it. `note` says why it started nothing at all."""

    id: int
    ref: str
    old: str | None
    new: str | None
    who: str
    via: Via
    is_forced: bool
    subject: str
    at: float
    note: str | None = None
    firings: tuple[FiringInfo, ...] = ()


class RepoFlowInfo(Struct, frozen=True, kw_only=True):
    """A flow of a repository. One with problems, or that is disabled, starts nothing."""

    name: str
    path: str
    title: str
    triggers: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[Mistake, ...] = ()
    is_enabled: bool = True
    next_times: tuple[float, ...] = ()  # of its schedule


class RepoFlowText(RepoFlowInfo, frozen=True, kw_only=True):
    """A flow with its text at a commit."""

    sha: str
    text: str


class NewRepo(Struct, frozen=True, kw_only=True):
    """A repository to create. One that is to be ingested starts no flows before it is complete."""

    name: str
    title: str = ""
    default_branch: str = "main"
    remote_url: str | None = None
    ingest: bool = False


class RepoChanges(Struct, frozen=True, kw_only=True):
    """Changes of a repository; what is None stays as it is."""

    title: str | None = None
    default_branch: str | None = None
    remote_url: str | None = None
    protected: tuple[str, ...] | None = None
    disabled_flows: tuple[str, ...] | None = None
    test: str | None = None


class PushPage(Struct, frozen=True):
    """A page of pushes, the newest first; `next` is the cursor of the next page."""

    pushes: tuple[PushInfo, ...]
    next: str | None = None


class FiringPage(Struct, frozen=True):
    """A page of firings, the newest first; `next` is the cursor of the next page."""

    firings: tuple[FiringInfo, ...]
    next: str | None = None


class BranchPage(Struct, frozen=True):
    """A page of branches, by name; `next` is the cursor of the next page."""

    branches: tuple[Branch, ...]
    next: str | None = None


class CommitPage(Struct, frozen=True):
    """A page of commits, the newest first; `next` is the cursor of the next page."""

    commits: tuple[CommitEntry, ...]
    next: str | None = None


class Folder(Struct, frozen=True):
    """A folder at a commit; `is_cut` says that it has more entries."""

    sha: str
    path: str
    entries: tuple[TreeEntry, ...]
    is_cut: bool = False


class Written(Struct, frozen=True):
    """A commit that Pitstop made on a branch."""

    branch: str
    sha: str
