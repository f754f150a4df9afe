"""The lives of a repository and of a firing, as tables of allowed moves."""

from collections.abc import Mapping
from typing import Literal

RepoState = Literal["creating", "ready", "failed", "deleting"]
FiringOutcome = Literal["pending", "started", "duplicate", "skipped", "refused"]

REPO_MOVES: Mapping[RepoState, tuple[RepoState, ...]] = {
    "creating": ("ready", "failed", "deleting"),
    "failed": ("creating", "deleting"),
    "ready": ("deleting",),
    "deleting": (),  # then it is gone
}
FIRING_MOVES: Mapping[FiringOutcome, tuple[FiringOutcome, ...]] = {
    "pending": ("started", "refused"),
    "started": (),
    "duplicate": (),
    "skipped": (),
    "refused": (),
}


def states_before(state: RepoState) -> tuple[RepoState, ...]:
    """The states that a repository can be in when it moves to this one."""
    return tuple(each for each, after in REPO_MOVES.items() if state in after)


def outcomes_before(outcome: FiringOutcome) -> tuple[FiringOutcome, ...]:
    """The outcomes that a firing can have when it gets this one."""
    return tuple(each for each, after in FIRING_MOVES.items() if outcome in after)
