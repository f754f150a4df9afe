"""What the keeper and its supervisors need of `signal`, `socket` and `contextlib`, without what those bring along.

The enumerations around the numbers in them take longer to load than all the rest of the keeper.
"""

TYPE_CHECKING = False  # that of `typing`
if TYPE_CHECKING:
    import signal
    import socket
else:
    import _signal as signal
    import _socket as socket

__all__ = ["signal", "socket", "suppress"]


class suppress:  # noqa: N801 - as the one in contextlib
    """Go on after these errors."""

    def __init__(self, *errors: type[Exception]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        return kind is not None and issubclass(kind, self._errors)
