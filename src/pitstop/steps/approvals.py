"""Questions to a person, and the answers."""

import asyncio
from collections.abc import Callable

from msgspec import Struct

from pitstop.errors import NotAsked
from pitstop.steps.failures import NobodyToApprove

WITHOUT_TERMINAL = "run the flow in a terminal to answer"


class Question(Struct, frozen=True):
    """A question of a step to the user."""

    occurrence: str
    prompt: str


class Decision(Struct, frozen=True):
    """What the person said."""

    approved: bool
    by: str = ""
    comment: str = ""


class Approvals:
    """Questions of steps that a user answers in this process; `how` None where no user is there to answer."""

    def __init__(self, how: str | None = None, on_asked: Callable[[Question], None] | None = None) -> None:
        self._how = how
        self._on_asked = on_asked
        self._open: dict[str, tuple[Question, asyncio.Future[Decision]]] = {}

    @property
    def open_questions(self) -> tuple[Question, ...]:
        return tuple(question for question, _ in self._open.values())

    def how(self, occurrence: str) -> str:
        """What a user has to do to answer, in one sentence."""
        how = WITHOUT_TERMINAL if self._how is None else self._how
        return how.replace("{occurrence}", occurrence)

    async def ask(self, occurrence: str, prompt: str) -> Decision:
        """Wait for the answer; cancelling withdraws the question. NobodyToApprove when none can come."""
        if self._how is None:
            raise NobodyToApprove(prompt, self.how(occurrence))
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
