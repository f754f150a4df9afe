"""The lives of a repository, a firing, a card and a trial, as tables of allowed moves."""

from collections.abc import Mapping
from typing import Literal

RepoState = Literal["creating", "ready", "failed", "deleting"]
FiringOutcome = Literal["pending", "started", "duplicate", "skipped", "refused"]
CardStatus = Literal["todo", "in_progress", "in_review", "done", "failed"]
AttemptOutcome = Literal["running", "passed", "failed", "cancelled"]
RunOutcome = Literal["passed", "failed", "cancelled"]
TrialState = Literal["queued", "running", "cancelling", "passed", "failed", "cancelled"]

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
CARD_MOVES: Mapping[CardStatus, tuple[CardStatus, ...]] = {
    "todo": ("in_progress",),
    "in_progress": ("in_review", "failed", "todo"),
    "in_review": ("done", "todo", "in_progress", "failed"),
    "done": ("todo",),
    "failed": ("in_progress", "todo"),
}
TRIAL_MOVES: Mapping[TrialState, tuple[TrialState, ...]] = {
    "queued": ("running", "cancelling", "passed", "failed", "cancelled"),  # a short run is over when it is first seen
    "running": ("cancelling", "passed", "failed", "cancelled"),
    "cancelling": ("passed", "failed", "cancelled"),
    "passed": (),
    "failed": (),
    "cancelled": (),
}


def states_before(state: RepoState) -> tuple[RepoState, ...]:
    """The states that a repository can be in when it moves to this one."""
    return tuple(each for each, after in REPO_MOVES.items() if state in after)


def outcomes_before(outcome: FiringOutcome) -> tuple[FiringOutcome, ...]:
    """The outcomes that a firing can have when it gets this one."""
    return tuple(each for each, after in FIRING_MOVES.items() if outcome in after)


def trial_states_before(state: TrialState) -> tuple[TrialState, ...]:
    """The states that a trial can be in when it gets this one."""
    return tuple(each for each, after in TRIAL_MOVES.items() if state in after)
