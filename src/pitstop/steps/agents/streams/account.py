"""What the stream of a CLI has said so far, which decides what is reported."""

from collections.abc import Mapping, Sequence
from typing import Any

from pitstop.steps.agents.reports import Began, EndStatus, Finished, Report, Said, Tokens, Typed, Warned
from pitstop.steps.agents.tool_classes import called

_EXIT_CODES = {
    ("gemini", 41): "it could not authenticate; check its API key",
    ("gemini", 42): "it did not accept its input",
    ("gemini", 52): "it did not accept its settings",
    ("gemini", 53): "it reached its turn limit; raise maxSessionTurns in its settings",
    ("gemini", 55): "it does not trust the workspace",
}


class Account:
    """Reports nothing twice that a CLI repeats, and its end even if the CLI does not say how it ended."""

    def __init__(self, cli: str) -> None:
        self._cli = cli
        self._began: Began | None = None
        self._called: set[str] = set()
        self._typed: list[str] = []
        self._text = ""
        self._warning = ""
        self._has_result = False
        self.error = ""  # that was not recovered from
        self.turns: int | None = None
        self.cost: float | None = None
        self.tokens: Tokens | None = None

    def begin(self, session: str, model: str = "") -> Sequence[Report]:
        began = Began(session or None, model or None)
        if not session or began == self._began:
            return ()
        self._began = began
        return (began,)

    def type(self, text: str) -> Sequence[Report]:
        """A piece of a text that the CLI does not repeat: `say_typed` reports all of it."""
        if text:
            self._typed.append(text)
        return (Typed(text),) if text else ()

    def say_typed(self) -> Sequence[Report]:
        text, self._typed = "".join(self._typed), []
        return self.say(text)

    def say(self, text: str) -> Sequence[Report]:
        self._text = text or self._text
        return (Said(text),) if text else ()

    def call(self, call: str, name: str, given: Mapping[str, Any], parent: str | None = None) -> Sequence[Report]:
        if not call or call in self._called:
            return ()
        self._called.add(call)
        return (called(self._cli, call, name, given, parent),)

    def warn(self, text: str) -> Sequence[Report]:
        if not text or text == self._warning:
            return ()
        self._warning = text
        return (Warned(text),)

    def fail(self, error: str) -> Sequence[Report]:
        """An error that the CLI may still recover from, which the end of a turn shows."""
        self.error = error or f"{self._cli} reported an error"
        return self.warn(self.error)

    def end_turn(self) -> None:
        self.turns = (self.turns or 0) + 1
        self.error = ""

    def result(self, reason: str, text: str = "") -> Sequence[Report]:
        """The end, for a reason if it failed."""
        self._has_result = True
        text = text or self._text
        status: EndStatus = "failed" if reason else "passed"
        return (Finished(status, text or None, reason, self.turns, self.cost, self.tokens),)

    def finish(self, exit_code: int | None) -> Sequence[Report]:
        """What remains to be reported when the CLI has ended."""
        said = self.say_typed()
        return said if self._has_result else (*said, *self.result(self.error or self._why_failed(exit_code)))

    def _why_failed(self, exit_code: int | None) -> str:
        code = exit_words(exit_code, self._cli)
        if self.turns is None:  # the last warning often says why
            return f"{self._cli} ended without a result ({code})" + (f": {self._warning}" if self._warning else "")
        return f"{self._cli} failed ({code})" if exit_code else ""


def exit_words(exit_code: int | None, cli: str = "") -> str:
    if exit_code is None:
        return "exit code unknown"
    meaning = _EXIT_CODES.get((cli, exit_code))
    return f"exit code {exit_code}: {meaning}" if meaning else f"exit code {exit_code}"
