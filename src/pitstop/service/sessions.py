"""A debug session that the service can follow to the place where a step works."""

from pitstop.debugger.session import Session
from pitstop.engine.frame import Activation
from pitstop.service.api import DebugRequest


class LocalSession(Session):
    """A session of a run in this process."""

    def activation_at(self, stop: int) -> Activation:
        """The step that is held at a stop; StaleStop when the stop is over."""
        return self._at(stop, "evaluate").point.activation


def make_session(request: DebugRequest) -> LocalSession:
    """A session with the breakpoints that were asked for; BadBreakpoint."""
    session = LocalSession(
        stop_at_entry=request.stop_at_entry,
        stop_on_error=request.stop_on_error,
        stop_at_end=request.stop_at_end,
        lease_seconds=request.lease_seconds,
        on_lease_end=request.on_lease_end,
    )
    for wanted in request.breakpoints:
        session.add_breakpoint(
            wanted.step,
            wanted.position,
            condition=wanted.condition,
            file=wanted.file,
            line=wanted.line,
            hits=wanted.hits,
            log=wanted.log,
            once=wanted.once,
        )
    return session
