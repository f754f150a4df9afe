"""The desk for the playground: prompts of agents are tried on repositories, without cards."""

from typing import Protocol

from msgspec import Struct

from pitstop.git.changes import ChangedFile, Diff, Patch
from pitstop.git.ref_values import RefValue
from pitstop.platform.live_state import Live
from pitstop.platform.lives import TrialState
from pitstop.platform.playground.trial_values import Input, NewTrial, TrialInfo, TrialSettings
from pitstop.service.caller import Caller
from pitstop.service.cards import CardInfo

__all__ = [
    "ChangedFile",
    "Comparison",
    "Diff",
    "Input",
    "Live",
    "NewTrial",
    "Patch",
    "Playground",
    "RefValue",
    "TrialBranch",
    "TrialInfo",
    "TrialPage",
    "TrialResult",
    "TrialSettings",
    "TrialState",
]


class TrialPage(Struct, frozen=True):
    """Trials, newest first, with the beginnings of their prompts; `next` is the cursor of the next page."""

    trials: tuple[TrialInfo, ...]
    next: str | None = None


class TrialResult(Struct, frozen=True, kw_only=True):
    """What became of a trial: the files that it changed, and how long its run took."""

    trial: TrialInfo
    files: tuple[ChangedFile, ...]
    seconds: float | None


class Comparison(Struct, frozen=True, kw_only=True):
    """Two trials, and what differs between their results."""

    a: TrialResult
    b: TrialResult
    between: Diff


class TrialBranch(Struct, frozen=True, kw_only=True):
    """A branch that a result was saved to; `is_merged` if the default branch has all its commits."""

    name: str
    commit: RefValue
    age_seconds: float
    is_merged: bool


class Playground(Protocol):
    """Trials of agents. Reading needs no role; whatever changes something needs an operator.

    UnknownRepo, and Unknown for a trial. Trials are forgotten after 7 days. What needs the files of a repository that
    another server has is refused with RepoElsewhere.
    """

    async def create(self, caller: Caller, request: NewTrial) -> tuple[TrialInfo, ...]:
        """Start a trial for each agent. BadRequest, UnknownRef, UnknownPath; TooMany beyond the limits."""
        ...

    async def list(
        self, caller: Caller, repo: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> TrialPage:
        """BadCursor."""
        ...

    async def get(self, caller: Caller, trial: str) -> TrialInfo: ...

    async def diff(self, caller: Caller, trial: str) -> Diff:
        """What the trial changed; nothing as long as it runs."""
        ...

    async def patch(self, caller: Caller, trial: str, path: str) -> Patch:
        """UnknownPath."""
        ...

    async def compare(self, caller: Caller, a: str, b: str) -> Comparison:
        """BadRequest for trials of two repositories."""
        ...

    async def cancel(self, caller: Caller, trial: str) -> TrialInfo:
        """End the run of a trial. The trial is `cancelling` as long as anything runs; CommandRefused if it has ended.

        Closing a connection cancels nothing.
        """
        ...

    async def save(self, caller: Caller, trial: str, name: str) -> TrialInfo:
        """Save the result to `branch`: `agent-test/<name>-NNN` with the next number. BadRequest; CommandRefused."""
        ...

    async def again(self, caller: Caller, trial: str, group: str | None = None) -> TrialInfo:
        """A new trial with the same settings, on the present commit of its branch. As `create`."""
        ...

    async def make_card(self, caller: Caller, trial: str, title: str) -> CardInfo:
        """A card for the same agent and prompt: in review with the result if there is one, else in todo. BadCard."""
        ...

    async def delete(self, caller: Caller, trial: str) -> None:
        """Delete a trial that has ended, with its result. Its run and its saved branches stay. CommandRefused."""
        ...

    async def branches(self, caller: Caller, repo: str) -> tuple[TrialBranch, ...]:
        """The branches that results were saved to, newest first. `Repos.delete_branches` deletes them."""
        ...
