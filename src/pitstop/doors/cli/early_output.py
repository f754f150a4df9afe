"""What steps write, in its place among the events: those are told one after the other, and may be behind it."""

from collections.abc import Callable

from pitstop.service.runs import EventInfo, Output


class EarlyOutput:
    """Holds what an occurrence writes until its start was told; each time, where the run went back to before it.

    What it writes on the terminal of a shell is held until that was closed.
    """

    def __init__(self, show: Callable[[Output], None]) -> None:
        self._show = show
        self._started: set[str] = set()
        self._held: dict[str, list[Output]] = {}  # by occurrence
        self._dropped: set[str] = set()

    def hear(self, output: Output) -> None:
        if output.occurrence in self._started:
            self._show(output)
        else:
            self._held.setdefault(output.occurrence, []).append(output)

    def drop(self, occurrence: str) -> None:
        """Do not show what it writes until its shell is closed: the user sees that in the shell."""
        self._dropped.add(occurrence)

    def follow(self, told: EventInfo) -> None:
        if told.kind == "step.started":
            self._started.add(told.fields["occurrence"])
            self._let_out(told.fields["occurrence"])
        elif told.kind == "step.finished":
            self._started.discard(told.fields["occurrence"])
        elif told.kind == "debug.shell_closed":
            occurrence = told.fields["occurrence"]
            if occurrence in self._dropped:
                self._dropped.discard(occurrence)
                self._held.pop(occurrence, None)
            self._let_out(occurrence)

    def let_out(self) -> None:
        """Show all that is held: nothing more is told."""
        for occurrence in list(self._held):
            self._let_out(occurrence)

    def _let_out(self, occurrence: str) -> None:
        for output in self._held.pop(occurrence, ()):
            self._show(output)
