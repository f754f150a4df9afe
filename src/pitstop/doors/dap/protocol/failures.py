"""Requests that come to nothing, and how a client is told."""

from pitstop.errors import PitstopError

NOT_STOPPED = "notStopped"  # like "cancelled", a word of the protocol; any other message is for people

FAILED_ID, UNKNOWN_ID, ARGUMENTS_ID, NOT_STOPPED_ID, CANCELLED_ID, BUG_ID = range(1, 7)


class RequestFailed(PitstopError):
    """Why a request has failed. With `show_user` the client shows it."""

    code = "dap"

    def __init__(self, reason: str, *, number: int = FAILED_ID, show_user: bool = True) -> None:
        super().__init__(reason)
        self.number = number
        self.show_user = show_user

    @property
    def message(self) -> str:
        return NOT_STOPPED if self.number == NOT_STOPPED_ID else str(self)


def cancelled() -> RequestFailed:
    return RequestFailed("cancelled", number=CANCELLED_ID, show_user=False)


def not_stopped(reason: str = "the run is not paused") -> RequestFailed:
    return RequestFailed(reason, number=NOT_STOPPED_ID, show_user=False)


def stale(what: str) -> RequestFailed:
    """For what belongs to a stop that is over; editors ask for it all the time, and nobody has to see that."""
    return RequestFailed(f"{what} belongs to a stop that has ended", show_user=False)
