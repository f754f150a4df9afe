"""The desk for cards: work on branches, which is started, reviewed and merged."""

from typing import Protocol

from pitstop.git.changes import Diff, Patch
from pitstop.platform.cards.card_info import (
    Approval,
    AttemptDetail,
    AttemptInfo,
    Board,
    BoardFilter,
    CardChanges,
    CardInfo,
    CardMove,
    CardPreview,
    CardSummary,
    Column,
    Conflict,
    ConflictFile,
    DiffRange,
    Live,
    Method,
    NewCard,
    NewNote,
    NoteInfo,
    Rejection,
    StartCard,
    StartFrom,
    Updated,
    Work,
)
from pitstop.platform.cards.card_values import Side, repo_of
from pitstop.platform.lives import CardStatus
from pitstop.service.caller import Caller

__all__ = [
    "Approval",
    "AttemptDetail",
    "AttemptInfo",
    "Board",
    "BoardFilter",
    "CardChanges",
    "CardInfo",
    "CardMove",
    "CardPreview",
    "CardStatus",
    "CardSummary",
    "Cards",
    "Column",
    "Conflict",
    "ConflictFile",
    "Diff",
    "DiffRange",
    "Live",
    "Method",
    "NewCard",
    "NewNote",
    "NoteInfo",
    "Patch",
    "Rejection",
    "Side",
    "StartCard",
    "StartFrom",
    "Updated",
    "Work",
    "repo_of",
]

EVERY_CARD, AS_USUAL, BY_MERGE, WHOLE_WORK = BoardFilter(), StartCard(), Approval(), DiffRange()


class Cards(Protocol):
    """The cards of repositories. Reading needs no role; whatever changes something needs an operator.

    UnknownRepo, UnknownCard. With a `version`, a change raises StaleCard if the card has another one by now. What needs
    the files of a repository that another server has is refused with RepoElsewhere.
    """

    async def board(self, caller: Caller, repo: str, filter: BoardFilter = EVERY_CARD) -> Board:
        """How many cards each column has, and its first 50."""
        ...

    async def column(
        self,
        caller: Caller,
        repo: str,
        status: CardStatus,
        filter: BoardFilter = EVERY_CARD,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Column: ...

    async def create(self, caller: Caller, repo: str, request: NewCard) -> CardInfo:
        """BadCard, UnknownRef."""
        ...

    async def preview(self, caller: Caller, repo: str, request: NewCard) -> CardPreview:
        """What would be run for a card like this."""
        ...

    async def get(self, caller: Caller, card: str) -> CardInfo: ...

    async def update(self, caller: Caller, card: str, changes: CardChanges, version: int | None = None) -> CardInfo:
        """BadCard; CardInProgress when its work would change under a run."""
        ...

    async def move(self, caller: Caller, card: str, move: CardMove, version: int | None = None) -> CardInfo:
        """Put a card elsewhere. BadMove for a move that needs more than that, with what to do instead."""
        ...

    async def delete(self, caller: Caller, card: str, *, delete_branch: bool = False) -> None:
        """CardInProgress."""
        ...

    async def start(
        self, caller: Caller, card: str, options: StartCard = AS_USUAL, version: int | None = None
    ) -> CardInfo:
        """Start the work, or do it again. BadMove, BadCard, UnknownRef."""
        ...

    async def cancel(self, caller: Caller, card: str) -> CardInfo:
        """End the run of a card, then move it back. The card is in progress as long as anything runs."""
        ...

    async def approve(
        self, caller: Caller, card: str, approval: Approval = BY_MERGE, version: int | None = None
    ) -> CardInfo:
        """Merge the branch. MergeConflict, which the card then shows; RefMoved, NothingToMerge, BadMove."""
        ...

    async def update_branch(self, caller: Caller, card: str, *, by_hand: bool = False) -> Updated:
        """Merge the base into the branch. Conflicts are resolved by the agent, or by hand in a paused run."""
        ...

    async def reject(self, caller: Caller, card: str, rejection: Rejection, version: int | None = None) -> CardInfo: ...

    async def notes(self, caller: Caller, card: str) -> tuple[NoteInfo, ...]:
        """All notes, the oldest first, with the places where their lines are now."""
        ...

    async def note(self, caller: Caller, card: str, note: NewNote) -> NoteInfo:
        """BadCard, UnknownPath."""
        ...

    async def resolve_note(self, caller: Caller, card: str, note: int, *, resolved: bool = True) -> NoteInfo: ...

    async def attempts(self, caller: Caller, card: str) -> tuple[AttemptInfo, ...]:
        """The newest first."""
        ...

    async def attempt(self, caller: Caller, card: str, number: int) -> AttemptDetail: ...

    async def diff(self, caller: Caller, card: str, range: DiffRange = WHOLE_WORK) -> Diff: ...

    async def patch(self, caller: Caller, card: str, path: str, range: DiffRange = WHOLE_WORK) -> Patch:
        """UnknownPath."""
        ...
