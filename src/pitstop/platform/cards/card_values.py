"""A card, its attempts and its notes, as plain values."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from pitstop.git.merged_trees import ConflictFile
from pitstop.platform.live_state import Live
from pitstop.platform.lives import AttemptOutcome, CardStatus

WorkKind = Literal["agent", "run", "flow", "none"]
AttemptKind = Literal["work", "update", "by_hand"]
NoteKind = Literal["comment", "review", "system"]
Side = Literal["old", "new"]


class Work(Struct, frozen=True, kw_only=True):
    """What does the work of a card: an agent, a script, or a flow of the repository; with none of them, people do.

    `cli`, `model` and `budget` are for an agent, `image` is for an agent or a script, and `inputs` are for a flow.
    """

    agent: str | None = None
    prompt: str = ""
    cli: str | None = None
    model: str | None = None
    budget: Mapping[str, Any] = field(default_factory=dict)
    run: str | None = None
    image: str | None = None
    flow: str | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> WorkKind:
        if self.agent is not None:
            return "agent"
        if self.run is not None:
            return "run"
        return "none" if self.flow is None else "flow"


class Conflict(Struct, frozen=True, kw_only=True):
    """Why the branch of a card cannot be merged into its base, as both were at these commits."""

    base_sha: str
    head_sha: str
    files: tuple[ConflictFile, ...]


class CardRecord(Struct, frozen=True, kw_only=True):
    """A card as it is stored.

    `base_sha` is where its branch began, and `head_sha` where it is now; None if there is no branch. `run` is that of
    the last attempt, and `reason` says why it is where it is. `version` grows with each change.
    """

    id: str
    repo: str
    number: int
    title: str
    status: CardStatus
    position: float
    work: Work
    base: str
    by: str
    created_at: float
    updated_at: float
    description: str = ""
    labels: tuple[str, ...] = ()
    branch: str | None = None
    base_sha: str | None = None
    head_sha: str | None = None
    merged_sha: str | None = None
    landed_at: float | None = None
    conflict: Conflict | None = None
    attempt: int = 0
    run: str | None = None
    reason: str | None = None
    depth: int = 0
    version: int = 1


class AttemptRecord(Struct, frozen=True, kw_only=True):
    """One attempt at the work of a card. Its commit gets `parents`, and moves the branch from `from_sha` to `to_sha`.

    `text` is the flow that its run executes, and `prompt` what its agent was told.
    """

    card: str
    number: int
    repo: str
    kind: AttemptKind
    run: str
    from_sha: str
    parents: tuple[str, ...]
    text: str
    prompt: str
    by: str
    started_at: float
    work_sha: str | None = None  # the commit in its workspace; the first of `parents` if it is another
    profile: str | None = None
    to_sha: str | None = None
    outcome: AttemptOutcome = "running"
    reason: str | None = None
    live: Live = Live()
    ended_at: float | None = None


class NoteRecord(Struct, frozen=True, kw_only=True):
    """A note on a card, or on a line of a file at a commit. On the old `side`, that is the commit compared with."""

    id: int
    card: str
    repo: str
    kind: NoteKind
    text: str
    who: str
    at: float
    file: str | None = None
    line: int | None = None
    side: Side = "new"
    sha: str | None = None
    resolved: bool = False


def card_id(repo: str, number: int) -> str:
    return f"{repo}-{number}"


def repo_of(card: str) -> str:
    """The repository that a card with this id is of."""
    return card.rpartition("-")[0]
