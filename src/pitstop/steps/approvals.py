"""Questions to a person, and the answers."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from pitstop.errors import NotAsked
from pitstop.lazy_dataclass import dataclass
from pitstop.steps.failures import NobodyToApprove


@dataclass(frozen=True, slots=True)
class Question:
    """What a step wants to know from a person."""

    occurrence: str
    prompt: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What the person said."""

    approved: bool
    by: str = ""
    comment: str = ""


class Approvals(Protocol):
    """Where a step asks a person."""

    def how(self, occurrence: str) -> str:
        """What a person has to do to answer, in one sentence."""
        ...

    async def ask(self, occurrence: str, prompt: str) -> Decision:
        """Wait for the answer; cancelling withdraws the question. NobodyToApprove when none can come."""
        ...


class MemoryApprovals:
    """Questions that are answered in this process.

    `how` tells a person what to do, with `{occurrence}` for the step; `on_asked` hears of each new question.
    """

    def __init__(self, how: str, on_asked: Callable[[Question], None] | None = None) -> None:
        self._how = how
        self._on_asked = on_asked
        self._open: dict[str, tuple[Question, asyncio.Future[Decision]]] = {}

    @property
    def open_questions(self) -> tuple[Question, ...]:
        return tuple(question for question, _ in self._open.values())

    def how(self, occurrence: str) -> str:
        return self._how.replace("{occurrence}", occurrence)

    async def ask(self, occurrence: str, prompt: str) -> Decision:
        question = Question(occurrence, prompt)
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._open[occurrence] = question, answer
        try:
            if self._on_asked is not None:
                self._on_asked(question)
            return await answer
        finally:
            self._open.pop(occurrence, None)

    def answer(self, occurrence: str, decision: Decision) -> None:
        """Answer an open question; NotAsked when there is none."""
        _, answer = self._open.pop(occurrence, (None, None))
        if answer is None or answer.done():  # done: withdrawn, which whoever asked has not seen yet
            raise NotAsked(occurrence)
        answer.set_result(decision)


class NoApprovals:
    """For a run that nobody watches: every question fails at once, rather than to wait for ever."""

    def __init__(self, how: str = "run the flow where a user can answer") -> None:
        self._how = how

    def how(self, occurrence: str) -> str:
        return self._how.replace("{occurrence}", occurrence)

    async def ask(self, occurrence: str, prompt: str) -> Decision:
        raise NobodyToApprove(prompt, self.how(occurrence))
