"""A repository and its pushes, as plain values."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from pitstop.errors import BadRepoName, BadRepoSetting, Mistake
from pitstop.platform.lives import FiringOutcome, RepoState

BRANCHES, TAGS = "refs/heads/", "refs/tags/"
MOST_PROTECTED = 100

Via = Literal["push", "merge", "card", "ingest", "write", "scan"]
TriggerKind = Literal["push", "schedule", "webhook", "manual", "card", "card_complete", "trial"]

_NAME = re.compile(r"(?!.*\.\.)[a-z0-9][a-z0-9._-]{0,63}")
_USER_IN_URL = re.compile(r"^[a-z][a-z0-9+.-]*://[^/]*@", re.IGNORECASE)


class RepoSettings(Struct, frozen=True, kw_only=True):
    """What an operator has set for a repository: branches that only a merge may move, and flows that start nothing.

    `test` is the command that tests the work of agents; empty to find one, and `none` for none.
    """

    protected: tuple[str, ...] = ()
    disabled_flows: tuple[str, ...] = ()
    test: str = ""


class RepoRecord(Struct, frozen=True, kw_only=True):
    """A repository. `home` is the id of the state folder that has its files."""

    id: str
    title: str
    default_branch: str
    home: str
    state: RepoState
    created_at: float
    remote_url: str | None = None
    error: str | None = None
    settings: RepoSettings = RepoSettings()


class IndexedFlow(Struct, frozen=True, kw_only=True):
    """A flow file at the head of a branch. `triggers` is its `on:`; one with problems starts nothing."""

    name: str
    path: str
    blob: str
    title: str
    triggers: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[Mistake, ...] = ()


class PushRecord(Struct, frozen=True, kw_only=True):
    """A move of a branch or tag: `old` is None for a new one, `new` for one that was deleted.

    `note` says why it started nothing at all, if that is so.
    """

    id: int
    repo: str
    ref: str
    old: str | None
    new: str | None
    who: str
    via: Via
    is_forced: bool
    subject: str
    at: float
    note: str | None = None


class FiringInfo(Struct, frozen=True, kw_only=True):
    """What a trigger made of an event: the run that it started, or the reason why it started none."""

    id: int
    repo: str
    flow: str
    kind: TriggerKind
    outcome: FiringOutcome
    who: str
    at: float
    ref: str | None = None
    sha: str | None = None
    reason: str | None = None
    run: str | None = None
    push: int | None = None
    card: str | None = None


class FiringRecord(FiringInfo, frozen=True, kw_only=True):
    """A firing as it is stored. `subject` is what the run sees as `.trigger`.

    `depth` counts the runs that started each other before it.
    """

    subject: Mapping[str, Any] = field(default_factory=dict)
    depth: int = 0


def check_repo_name(name: str) -> str:
    """The name; BadRepoName."""
    if not _NAME.fullmatch(name) or name.endswith((".git", ".lock", ".")):
        raise BadRepoName(name)
    return name


def check_remote_url(url: str) -> str:
    """The URL of a remote; BadRepoSetting for one with a user or a password in it, or that is too long."""
    if _USER_IN_URL.match(url) and not url.startswith("ssh://"):
        shown = _USER_IN_URL.sub(lambda found: found[0].partition("://")[0] + "://", url)
        raise BadRepoSetting(f"the remote URL must not contain a user name or password: use {shown}")
    if len(url) > 2_000 or not url.isprintable():
        raise BadRepoSetting("the remote URL is too long, or contains characters that cannot be printed")
    return url


def branch_of(ref: str) -> str | None:
    """The branch that a ref names; None for a tag."""
    return ref.removeprefix(BRANCHES) if ref.startswith(BRANCHES) else None


def short_ref(ref: str) -> str:
    """A branch or tag by its own name."""
    return ref.removeprefix(BRANCHES).removeprefix(TAGS)
