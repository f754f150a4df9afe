"""What steps write, in its place among the events: those are told one after the other, and may be behind it."""

from collections.abc import Callable

from pitstop.service.runs import EventInfo, Output


class EarlyOutput:
    """Holds what an occurrence writes until its start was told; each time, where the run went back to before it."""

    def __init__(self, show: Callable[[Output], None]) -> None:
        self._show = show
        self._started: set[str] = set()
        self._held: dict[str, list[Output]] = {}  # by occurrence

    def hear(self, output: Output) -> None:
        if output.occurrence in self._started:
            self._show(output)
        else:
            self._held.setdefault(output.occurrence, []).append(output)

    def follow(self, told: EventInfo) -> None:
        if told.kind == "step.started":
            self._started.add(told.fields["occurrence"])
            self._let_out(told.fields["occurrence"])
        elif told.kind == "step.finished":
            self._started.discard(told.fields["occurrence"])

    def let_out(self) -> None:
        """Show all that is held: nothing more is told."""
        for occurrence in list(self._held):
            self._let_out(occurrence)

    def _let_out(self, occurrence: str) -> None:
        for output in self._held.pop(occurrence, ()):
            self._show(output)
