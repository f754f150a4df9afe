"""The streams of commands that write text: aider, and any other command."""

import re
from collections import deque
from collections.abc import Sequence

from pitstop.steps.agents.reports import Began, Finished, Report, Said, Tokens, Warned
from pitstop.steps.agents.streams.account import exit_words
from pitstop.steps.agents.streams.lines import DROPPED_LINE

_TEXT_LINES = 500
_TEXT_CHARACTERS = 16 * 1024
_NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
_COUNT = rf"({_NUMBER}[kM]?)"
_USED = re.compile(rf"Tokens: {_COUNT} sent(?:, \S+ cache write)?(?:, {_COUNT} cache hit)?, {_COUNT} received")
_COST = re.compile(rf"Cost: \$[\d.]+ message, \$({_NUMBER}) session")
_MODEL = re.compile(r"(?:Main model|Model): (\S+) with ")
_ERROR = "litellm."
_MANY = {"k": 1_000, "M": 1_000_000}


class TextStream:
    """Each line is text, and the exit code is the verdict. Aider's lines also have the model, tokens and cost.

    Aider exits with 0 whatever its model answered, so it has failed if the last request has no tokens.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._end: deque[str] = deque(maxlen=_TEXT_LINES)
        self._tokens: Tokens | None = None
        self._cost: float | None = None
        self._error = "its model gave no answer" if name == "aider" else ""  # of the last request

    def read(self, line: bytes) -> Sequence[Report]:
        text = line.decode(errors="replace")
        if line.startswith(DROPPED_LINE):
            return (Warned(text),)
        self._end.append(text[-_TEXT_CHARACTERS:])
        said = (Said(text),) if text and not text.isspace() else ()
        return (*self._read_aider(text), *said) if self._name == "aider" else said

    def finish(self, exit_code: int | None) -> Sequence[Report]:
        reason = self._error if exit_code == 0 else f"{self._name} failed ({exit_words(exit_code)})"
        text = "\n".join(self._end)[-_TEXT_CHARACTERS:].strip()
        return (Finished("failed" if reason else "passed", text or None, reason, None, self._cost, self._tokens),)

    def _read_aider(self, text: str) -> Sequence[Report]:
        if used := _USED.match(text):
            sent, cached, received = (_count(found) for found in used.groups(default="0"))
            self._tokens = (self._tokens or Tokens()) + Tokens(sent, received, cached)
            self._error = ""
        elif text.startswith(_ERROR):
            self._error = text
        if text.startswith(("Tokens: ", "Cost: ")) and (cost := _COST.search(text)):
            self._cost = float(cost[1])  # of the session so far
        model = _MODEL.match(text)
        return (Began(model=model[1]),) if model else ()


def _count(text: str) -> int:
    return round(float(text.rstrip("kM")) * _MANY.get(text[-1], 1))
