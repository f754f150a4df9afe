"""What steps write, in its place among the events: those are told one after the other, and may be behind it."""

from collections.abc import Callable

from pitstop.service.api import Output


class EarlyOutput:
    """Holds what an occurrence wrote until its start was told."""

    def __init__(self, show: Callable[[Output], None]) -> None:
        self._show = show
        self._started: set[str] = set()
        self._held: dict[str, list[Output]] = {}  # by occurrence

    def hear(self, output: Output) -> None:
        if output.occurrence in self._started:
            self._show(output)
        else:
            self._held.setdefault(output.occurrence, []).append(output)

    def start(self, occurrence: str) -> None:
        self._started.add(occurrence)
        self._let_out(occurrence)

    def let_out(self) -> None:
        """Show all that is held: nothing more is told."""
        for occurrence in list(self._held):
            self._let_out(occurrence)

    def _let_out(self, occurrence: str) -> None:
        for output in self._held.pop(occurrence, ()):
            self._show(output)
