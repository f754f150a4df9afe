"""What people see of cards, and what they ask for."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from pitstop.git.merged_trees import ConflictFile
from pitstop.git.merging import Method
from pitstop.platform.cards.card_values import (
    AttemptKind,
    Conflict,
    NoteKind,
    Side,
    Work,
    WorkKind,
)
from pitstop.platform.live_state import Live
from pitstop.platform.lives import AttemptOutcome, CardStatus
from pitstop.store.port import Status

__all__ = ["Conflict", "ConflictFile", "Live", "Method", "Work"]

StartFrom = Literal["head", "base"] | int  # an attempt by its number


class CardSummary(Struct, frozen=True, kw_only=True):
    """A card as the board shows it. `run_status` and `live` are those of the attempt that is running.

    `judges` are the runs that a completed card has started and that have not ended.
    """

    id: str
    repo: str
    number: int
    title: str
    status: CardStatus
    position: float
    work: WorkKind
    profile: str | None
    base: str
    by: str
    created_at: float
    updated_at: float
    version: int
    labels: tuple[str, ...] = ()
    branch: str | None = None
    head_sha: str | None = None
    attempt: int = 0
    run: str | None = None
    reason: str | None = None
    has_conflict: bool = False
    landed_at: float | None = None
    run_status: Status | None = None
    live: Live | None = None
    judges: tuple[str, ...] = ()


class CardInfo(CardSummary, frozen=True, kw_only=True):
    """A card with all that is known of it. `test` is the command that tests the work of an agent, if there is one."""

    description: str
    work_details: Work
    base_sha: str | None = None
    merged_sha: str | None = None
    conflict: Conflict | None = None
    is_branch_gone: bool = False
    unresolved_notes: int = 0
    test: str | None = None
    moves: tuple[CardStatus, ...] = ()  # where it can be moved by hand


class Column(Struct, frozen=True):
    """One column of the board: how many cards it has, and the first of them, or those after a cursor."""

    status: CardStatus
    count: int
    cards: tuple[CardSummary, ...]
    next: str | None = None


class Board(Struct, frozen=True):
    """The columns of a repository, in the order of the board; `labels` and `profiles` are all that its cards have."""

    columns: tuple[Column, ...]
    labels: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()


class BoardFilter(Struct, frozen=True, kw_only=True):
    """Which cards: those with this label, with this agent, or with this text in the title or the description."""

    label: str | None = None
    profile: str | None = None
    search: str | None = None


class NewCard(Struct, frozen=True, kw_only=True):
    """A card to create. Without a base it is the default branch; with `start` the work begins at once."""

    title: str
    description: str = ""
    work: Work = Work()
    base: str | None = None
    labels: tuple[str, ...] = ()
    start: bool = False


class CardChanges(Struct, frozen=True, kw_only=True):
    """Changes of a card; what is None stays as it is."""

    title: str | None = None
    description: str | None = None
    work: Work | None = None
    base: str | None = None
    labels: tuple[str, ...] | None = None


class CardMove(Struct, frozen=True, kw_only=True):
    """Where to put a card: in a column, behind the card `after` or first if that is None."""

    status: CardStatus
    after: str | None = None
    to_end: bool = False


class StartCard(Struct, frozen=True, kw_only=True):
    """How to start the work: what to tell the agent in addition, and from which state.

    `profile` is another agent, and `debug` pauses the run at the first tool call or step.
    """

    guidance: str = ""
    start_from: StartFrom = "head"
    profile: str | None = None
    debug: bool = False


class Approval(Struct, frozen=True, kw_only=True):
    """How to merge a card. It is refused if the branch is not at the commit `expect`.

    With `keep_open` the card stays in review and its branch goes on from the merge.
    """

    expect: str | None = None
    method: Method = "merge"
    message: str = ""
    keep_open: bool = False


class Rejection(Struct, frozen=True, kw_only=True):
    """Why a card is rejected, and whether its branch is kept."""

    reason: str = ""
    keep_branch: bool = True


class AttemptInfo(Struct, frozen=True, kw_only=True):
    """One attempt at the work of a card. `to_sha` is its commit, if it changed something."""

    card: str
    number: int
    kind: AttemptKind
    run: str
    from_sha: str
    by: str
    started_at: float
    profile: str | None = None
    to_sha: str | None = None
    outcome: AttemptOutcome = "running"
    reason: str | None = None
    live: Live = Live()
    ended_at: float | None = None


class AttemptDetail(AttemptInfo, frozen=True, kw_only=True):
    """An attempt with the flow that its run executed, and what its agent was told."""

    text: str
    prompt: str


class CardPreview(Struct, frozen=True, kw_only=True):
    """What would be run for a card: the flow, the prompt of its agent, and the command that tests the work."""

    text: str
    prompt: str
    test: str | None = None


class NewNote(Struct, frozen=True, kw_only=True):
    """A note on a card. With `file` and `line` it is on that line at the commit `sha`, by default the branch's head."""

    text: str
    file: str | None = None
    line: int | None = None
    side: Side = "new"
    sha: str | None = None


class NoteInfo(Struct, frozen=True, kw_only=True):
    """A note. `file_now` and `line_now` are where its line is at the head; it is outdated if the line is gone."""

    id: int
    card: str
    kind: NoteKind
    text: str
    who: str
    at: float
    file: str | None = None
    line: int | None = None
    side: Side = "new"
    sha: str | None = None
    resolved: bool = False
    file_now: str | None = None
    line_now: int | None = None
    is_outdated: bool = False


class DiffRange(Struct, frozen=True, kw_only=True):
    """Which part of a card's work: all of it, one attempt, or what differs between the results of two attempts.

    An attempt 0 is the base.
    """

    attempt: int | None = None
    from_attempt: int | None = None
    to_attempt: int | None = None


class Updated(Struct, frozen=True, kw_only=True):
    """A card after its base was merged into its branch, or while a run resolves the conflicts."""

    card: CardInfo
    is_clean: bool
    files: Mapping[str, str] = field(default_factory=dict)  # the conflicts, with their kinds
