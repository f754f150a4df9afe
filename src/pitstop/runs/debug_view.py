"""The frames of a run as its log tells them: a fold that goes on where it was."""

from pitstop.events.log import events_to_json
from pitstop.events.types import (
    AnyEvent,
    LeaseEnded,
    Rewound,
    RunStarted,
    SessionOpened,
    StepFinished,
    StepStarted,
    Stopped,
)
from pitstop.events.view import RunView, is_intervention
from pitstop.runs.log_pages import Page
from pitstop.runs.run_info import SessionState
from pitstop.runs.stop_info import FrameInfo, FrameState
from pitstop.runs.telling import intervention_text


class DebugView:
    """Where each frame is, and what was done to the run by hand."""

    def __init__(self) -> None:
        self.interventions: list[str] = []
        self._view = RunView()
        self._had_session = False
        self._last_stop = 0
        self._timed_out = -1
        self._open: dict[str, dict[str, str]] = {}  # by frame, the occurrences that are open in it and their steps

    @property
    def last_event(self) -> int:
        return self._view.last_event

    def follow(self, page: Page) -> None:
        """Take what has happened since; what was taken before is left out."""
        for number, event in page:
            if number == self._view.last_event + 1:
                self._view.apply(event)
                self._apply(event)

    @property
    def past_session(self) -> SessionState:
        """What a session of a run that is over was in the end."""
        if not self._last_stop and not self._had_session:
            return "none"
        return "timeout" if self._timed_out == self._last_stop else "ended"

    def frames(self) -> tuple[FrameInfo, ...]:
        stops = {stop.frame: stop for stop in self._view.stops.values()}
        told = []
        for frame in self._view.frames.values():
            occurrence, step = next(reversed(self._open.get(frame.id, {"": ""}).items()), (None, None))
            if frame.id in stops:
                occurrence, step = stops[frame.id].occurrence, stops[frame.id].step
            state: FrameState = frame.state  # type: ignore[assignment]
            told.append(FrameInfo(frame.id, frame.name, frame.parent, state, step or None, occurrence or None))
        return tuple(told)

    def _is_running(self, occurrence: str) -> bool:
        step = self._view.steps.get(occurrence)
        return step is not None and step.outcome is None

    def _apply(self, event: AnyEvent) -> None:
        match event:
            case RunStarted():
                self._open.clear()
            case SessionOpened():
                self._had_session = True
            case Stopped():
                self._last_stop = event.stop
            case LeaseEnded():
                self._timed_out = event.stop
            case StepStarted():
                self._open.setdefault(event.frame, {})[event.occurrence] = event.step
            case StepFinished():
                self._open.get(event.frame, {}).pop(event.occurrence, None)
            case Rewound():
                known = self._view.steps
                self._open = {
                    frame: {
                        name: step for name, step in opened.items() if name in known and known[name].outcome is None
                    }
                    for frame, opened in self._open.items()
                }
        if is_intervention(event):
            (fields,) = events_to_json([event])
            told = intervention_text(str(fields["kind"]), fields)
            self.interventions += [] if told is None else [told]
