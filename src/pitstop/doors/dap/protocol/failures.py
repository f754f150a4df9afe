"""Requests that come to nothing, and how a client is told."""

from pitstop.doors.dap.protocol.messages import ErrorBody, ErrorMessage
from pitstop.errors import PitstopError

NOT_STOPPED = "notStopped"  # these two words are reserved by the protocol; any other message is for people
CANCELLED = "cancelled"

FAILED_ID, UNKNOWN_ID, ARGUMENTS_ID, NOT_STOPPED_ID, CANCELLED_ID, BUG_ID = range(1, 7)


class RequestFailed(PitstopError):
    """A request that cannot be met, and changed nothing. With `show_user` the client shows why."""

    code = "dap"

    def __init__(self, reason: str, *, number: int = FAILED_ID, show_user: bool = True) -> None:
        super().__init__(reason)
        self.number = number
        self.show_user = show_user

    @property
    def message(self) -> str:
        return NOT_STOPPED if self.number == NOT_STOPPED_ID else str(self)


def not_stopped(reason: str = "the run is not paused") -> RequestFailed:
    return RequestFailed(reason, number=NOT_STOPPED_ID, show_user=False)


def stale(what: str) -> RequestFailed:
    """For what belongs to a stop that is over; editors ask for it all the time, and nobody has to see that."""
    return RequestFailed(f"{what} belongs to a stop that has ended", show_user=False)


def error_body(number: int, text: str, *, show_user: bool) -> ErrorBody:
    return ErrorBody(error=ErrorMessage(id=number, format=text, show_user=show_user))
